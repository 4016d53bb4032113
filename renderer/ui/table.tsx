import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Icon } from './icon.tsx';
import { type Filling, createFilling } from './table-filling.ts';
import { type Order, useSteadyOrder } from './table-order.ts';
import { createWindow } from './table-window.ts';

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** As in `grid-template-columns`: `minmax(120px, 2fr)`, `90px`, ... */
  readonly width: string;
  readonly cell: (row: R) => ReactNode;
  /** What rows are put in order by; left out where an order would say nothing. */
  readonly sortBy?: (row: R) => string | number | null;
  readonly align?: 'end';
  /** Where the cells say by themselves what they are, the title is only read aloud. */
  readonly isTitleUnseen?: boolean;
}

interface TableProps<R> {
  /** What a screen reader calls the table. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R) => string;
  /** How a row is called when it is read aloud: "Worker rig-3: busy, 2 GPUs". One function, kept. */
  readonly nameOf: (row: R) => string;
  readonly onOpen?: (row: R) => void;
  /** What a row unfolds when it is opened: all of it, where its cells have too little room. */
  readonly details?: (row: R) => ReactNode;
  /** In place of rows, when there are none. */
  readonly empty: ReactNode;
  /** There are more rows, which are still being read. */
  readonly isBusy?: boolean;
  /** The order that the rows come in, where the owner of the table sorts them; null for the usual one. */
  readonly order?: Order | null;
  readonly onOrder?: (order: Order) => void;
  /** Called when the last rows are near: there may be more of them. */
  readonly onNearEnd?: () => void;
}

/** Rows before the end at which more are asked for: about two screens. */
const nearEnd = 30;
const rowHeight = 48;
const detailsHeight = 220;
const closedRow = { height: rowHeight };
const openRow = {
  height: rowHeight + detailsHeight,
  gridTemplateRows: `${rowHeight}px ${detailsHeight}px`,
};

/**
 * Of many rows those alone are in the page that can be seen. While the pointer is over them they keep their places: what
 * changes is patched where it is, and nothing moves away under a hand.
 */
export function Table<R>(props: TableProps<R>) {
  const { label, columns, rows, idOf, nameOf, onOpen, empty, details, isBusy = false } = props;
  const [ownOrder, setOwnOrder] = useState<Order | null>(null);
  const order = props.order === undefined ? ownOrder : props.order;
  const scroller = useRef<HTMLDivElement>(null);
  const [filling] = useState(() => createFilling(run => void requestAnimationFrame(run)));
  const [rangeExtractor] = useState(createWindow);
  const [opened, setOpened] = useState<string | null>(null);
  const shown = useSteadyOrder(rows, idOf, columns, ownOrder);
  const virtual = useVirtualizer({
    count: shown.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => {
      const row = shown.rows[index];
      return row !== undefined && idOf(row) === opened ? rowHeight + detailsHeight : rowHeight;
    },
    rangeExtractor,
  });
  const grid = useMemo(() => gridOf(columns), [columns]);
  const turn = (column: string): void => {
    const next = { column, isDescending: order?.column === column && !order.isDescending };
    if (props.onOrder === undefined) setOwnOrder(next);
    else props.onOrder(next);
    // Here somebody wants them to move.
    shown.release();
  };
  useNearEnd(virtual.range?.endIndex, shown.rows.length, props.onNearEnd);
  const toggle = (row: R): void => setOpened(was => (was === idOf(row) ? null : idOf(row)));
  // Its rows have other heights now.
  useEffect(() => virtual.measure(), [virtual, opened]);
  const { openClicked, openEntered } = opening(shown.rows, details === undefined ? onOpen : toggle);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.key === 'Enter') openEntered(event);
    const next = nextRow(event);
    if (next === null) return;
    virtual.scrollToIndex(Math.max(0, Math.min(next, shown.rows.length - 1)));
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus(),
    );
  };

  // Only the rows of a treegrid may say that they unfold.
  const unfolding = details === undefined ? {} : { role: 'treegrid' };
  // Without rows there is no table, neither to be heard nor to be scrolled.
  if (shown.rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div
      className="table"
      role="grid"
      {...unfolding}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-busy={isBusy}
      onPointerEnter={shown.hold}
      onPointerLeave={shown.release}
      onClick={openClicked}
      onKeyDown={onKeyDown}
      tabIndex={-1}
    >
      <div className="table-scroll" ref={scroller}>
        <Head columns={columns} order={order} grid={grid} onTurn={turn} />
        <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = shown.rows[index];
            if (row === undefined) return null;
            return (
              <Row
                key={idOf(row)}
                row={row}
                index={index}
                top={start}
                grid={grid}
                columns={columns}
                filling={filling}
                nameOf={nameOf}
                details={details}
                isOpen={details === undefined ? undefined : idOf(row) === opened}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Empty({ children }: { readonly children: ReactNode }) {
  return (
    <div className="table">
      <div className="table-empty">{children}</div>
    </div>
  );
}

/** The row beside the focused one in the direction of an arrow key, or of j and k; null for other keys. */
function nextRow(event: KeyboardEvent<HTMLDivElement>): number | null {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const focused = document.activeElement?.closest('[data-row]');
  if (step === undefined || !(focused instanceof HTMLElement)) return null;
  event.preventDefault();
  return Number(focused.dataset['row']) + step;
}

function useNearEnd(
  last: number | null | undefined,
  count: number,
  onNearEnd: (() => void) | undefined,
): void {
  const isNear = typeof last === 'number' && last >= count - nearEnd;
  useEffect(() => {
    if (isNear) onNearEnd?.();
  }, [isNear, count, onNearEnd]);
}

/** Heard by the table for all of its rows: one that was told anew how it is opened would be rendered anew. */
function opening<R>(rows: readonly R[], onOpen: ((row: R) => void) | undefined) {
  const open = (element: Element | null): void => {
    const row = element instanceof HTMLElement ? rows[Number(element.dataset['row'])] : undefined;
    if (row !== undefined) onOpen?.(row);
  };
  return {
    openClicked({ target }: MouseEvent): void {
      // What a menu of a row does comes by here, too, though it lies elsewhere in the page: in no row.
      if (target instanceof Element && target.closest('a, button, input, label') === null)
        open(target.closest('[data-row]'));
    },
    openEntered({ target }: KeyboardEvent): void {
      if (target instanceof Element) open(target);
    },
  };
}

interface HeadProps<R> {
  readonly columns: readonly Column<R>[];
  readonly order: Order | null;
  readonly grid: CSSProperties;
  readonly onTurn: (column: string) => void;
}

function Head<R>({ columns, order, grid, onTurn }: HeadProps<R>) {
  return (
    <div className="table-head" role="row" aria-rowindex={1} style={grid}>
      {columns.map(column => (
        <div
          key={column.id}
          role="columnheader"
          data-align={column.align}
          aria-sort={sortOf(order, column.id)}
        >
          {column.sortBy === undefined ? (
            <span className={column.isTitleUnseen === true ? 'unseen' : undefined}>{column.title}</span>
          ) : (
            <button type="button" className="table-sort" onClick={() => onTurn(column.id)}>
              {column.title}
              {order?.column === column.id && <Icon name={order.isDescending ? 'down' : 'up'} />}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}

interface RowProps<R> {
  readonly row: R;
  readonly index: number;
  readonly top: number;
  readonly grid: CSSProperties;
  readonly columns: readonly Column<R>[];
  readonly filling: Filling;
  readonly nameOf: (row: R) => string;
  readonly details: ((row: R) => ReactNode) | undefined;
  /** Undefined where rows do not unfold. */
  readonly isOpen: boolean | undefined;
}

/** Most stay as they are when others change: rendered again only for another thing, or in another place. */
function Row<R>({ row, index, top, grid, columns, filling, nameOf, details, isOpen }: RowProps<R>) {
  const name = useMemo(() => nameOf(row), [nameOf, row]);
  return useMemo(
    () => (
      <div
        role="row"
        className="table-row"
        aria-rowindex={index + 2}
        aria-label={name}
        aria-expanded={isOpen}
        data-row={index}
        tabIndex={0}
        style={{ ...grid, ...(isOpen === true ? openRow : closedRow), transform: `translateY(${top}px)` }}
      >
        <Cells row={row} columns={columns} filling={filling} />
        {isOpen === true && (
          <div role="gridcell" className="table-details">
            {details?.(row)}
          </div>
        )}
      </div>
    ),
    [row, index, top, grid, columns, filling, name, details, isOpen],
  );
}

/** Rendered again only when its own thing has changed. */
function Cells<R>({ row, columns, filling }: Pick<RowProps<R>, 'row' | 'columns' | 'filling'>) {
  const [isFilled, setFilled] = useState(false);
  useEffect(() => filling.ask(() => setFilled(true)), [filling]);
  return useMemo(
    () =>
      isFilled &&
      columns.map(column => (
        <div key={column.id} role="gridcell" data-align={column.align}>
          {column.cell(row)}
        </div>
      )),
    [row, columns, isFilled],
  );
}

/** The same for the head and every row, whatever stands in them: columns stay under their titles. */
function gridOf(columns: readonly { readonly width: string }[]): CSSProperties {
  const least = columns.map(({ width }) => /\d+(?=px)/.exec(width)?.[0] ?? '0');
  return {
    gridTemplateColumns: columns.map(({ width }) => width).join(' '),
    minWidth: `calc(${least.join('px + ')}px + ${columns.length - 1} * var(--column-gap) + 24px)`,
  };
}

const sortOf = (order: Order | null, column: string): 'ascending' | 'descending' | 'none' => {
  if (order?.column !== column) return 'none';
  return order.isDescending ? 'descending' : 'ascending';
};
