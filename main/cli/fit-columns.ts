/** The texts of one column of a table, and the width that they need. */
export interface Cells {
  readonly texts: readonly string[];
  /** Narrow terminals drop the least important column first. Infinity for a column that is never dropped. */
  readonly importance: number;
  readonly width: number;
  /** Texts can be truncated to this width. */
  readonly minWidth: number;
}

/** Characters between two columns. */
export const gap = '  ';

/** Drops the least important columns until the rest fits, then narrows the columns that can be truncated, widest first. */
export function fitColumns(all: readonly Cells[], width: number): readonly Cells[] {
  let shown = all;
  while (totalWidth(shown, 'minWidth') > width) {
    const lowest = Math.min(...shown.map(({ importance }) => importance));
    if (lowest === Infinity) break;
    const dropped = shown.findLastIndex(({ importance }) => importance === lowest);
    shown = shown.toSpliced(dropped, 1);
  }
  let excess = totalWidth(shown, 'width') - width;
  while (excess > 0) {
    const widest = shown.filter(each => each.width > each.minWidth).toSorted((a, b) => b.width - a.width)[0];
    if (widest === undefined) break;
    shown = shown.map(each => (each === widest ? { ...each, width: each.width - 1 } : each));
    excess -= 1;
  }
  return shown;
}

const totalWidth = (cells: readonly Cells[], which: 'width' | 'minWidth'): number =>
  cells.reduce((sum, each) => sum + each[which], 0) + gap.length * Math.max(0, cells.length - 1);
