import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Icon } from './icon.tsx';
import { type CellScheduler, createCellScheduler, createWindow, withKept } from './table-rendering.ts';
import { type Order, useSteadyOrder } from './table-order.ts';

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** Explains a short title. */
  readonly hint?: string;
  /** A width for `grid-template-columns`: `minmax(120px, 2fr)`, `90px`, ... */
  readonly width: string;
  /** A different width on a phone, so that the neighbouring columns stay in view. */
  readonly phoneWidth?: string;
  readonly cell: (row: R) => ReactNode;
  /** Returns the value by which rows are sorted. Omit it for columns that cannot be sorted. */
  readonly sortBy?: (row: R) => string | number | null;
  readonly align?: 'end';
  /** Hides the title on the screen, where the cells explain themselves. Screen readers still read it. */
  readonly isTitleHidden?: boolean;
}

interface TableProps<R> {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R) => string;
  /** Describes a row for screen readers: "Worker rig-3: busy, 2 GPUs". Keep the same function between renders. */
  readonly nameOf: (row: R) => string;
  readonly onOpen?: (row: R) => void;
  /** Renders the details of an expanded row, for text that does not fit its cells. */
  readonly details?: (row: R) => ReactNode;
  /** Shown when there are no rows. */
  readonly empty: ReactNode;
  /** True while more rows are loading. */
  readonly isBusy?: boolean;
  /** The current order, when the parent sorts the rows; null for the default order. */
  readonly order?: Order | null;
  readonly onOrder?: (order: Order) => void;
  /** Called when the end of the table comes into view, to load more rows. */
  readonly onNearEnd?: () => void;
  readonly control?: RefObject<TableControl<R> | null>;
  /** The id of a row that is rendered even out of view, so that it keeps the focus. */
  readonly keptId?: string | null;
}

/** Gives the parent of a table access to the displayed rows. */
export interface TableControl<R> {
  readonly rows: readonly R[];
  /** Allows rows to move although the pointer is over the table. */
  readonly unfreeze: () => void;
  readonly scrollTo: (index: number) => void;
}

/** `onNearEnd` is called this many rows before the end, about two screens. */
const nearEnd = 30;
/** Heights in pixels: of a row, and of the details of an expanded row. */
export const rowHeight = 48;
const detailsHeight = 220;
const closedRow = { height: rowHeight };
const openRow = {
  height: rowHeight + detailsHeight,
  gridTemplateRows: `${rowHeight}px ${detailsHeight}px`,
};

/**
 * A table that renders only the visible rows. While the pointer is over the table, rows keep their positions and are
 * updated in place. So no row moves away from the pointer.
 */
export function Table<R>(props: TableProps<R>) {
  const { label, columns, rows, idOf, nameOf, onOpen, empty, details, isBusy = false } = props;
  const [ownOrder, setOwnOrder] = useState<Order | null>(null);
  const order = props.order === undefined ? ownOrder : props.order;
  const scroller = useRef<HTMLDivElement>(null);
  const [scheduler] = useState(() => createCellScheduler(run => void requestAnimationFrame(run)));
  const [opened, setOpened] = useState<string | null>(null);
  const shown = useSteadyOrder(rows, idOf, columns, ownOrder);
  const virtual = useRowWindow(props, { shown, scroller, opened });
  const grid = useMemo(() => gridOf(columns), [columns]);
  const changeOrder = (column: string): void => {
    const next = { column, isDescending: order?.column === column && !order.isDescending };
    if (props.onOrder === undefined) setOwnOrder(next);
    else props.onOrder(next);
    // The user chose another order, so rows may move again.
    shown.unfreeze();
  };
  useNearEnd(virtual.range?.endIndex, shown.rows.length, props.onNearEnd);
  const toggle = (row: R): void => setOpened(was => (was === idOf(row) ? null : idOf(row)));
  // A row changes its height when it is expanded or collapsed.
  useEffect(() => virtual.measure(), [virtual, opened]);
  const { onClick, onEnter } = openHandlers(shown.rows, details === undefined ? onOpen : toggle);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.key === 'Enter') onEnter(event);
    const next = nextRow(event);
    if (next === null) return;
    virtual.scrollToIndex(Math.max(0, Math.min(next, shown.rows.length - 1)));
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus(),
    );
  };

  // ARIA allows expandable rows only in a treegrid.
  const treegridRole = details === undefined ? {} : { role: 'treegrid' };
  // Render no table when it is empty, so that it is neither announced nor scrollable.
  if (shown.rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div
      className="table"
      style={grid}
      role="grid"
      {...treegridRole}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-busy={isBusy}
      onPointerEnter={shown.freeze}
      onPointerLeave={shown.unfreeze}
      onClick={onClick}
      onKeyDown={onKeyDown}
      tabIndex={-1}
    >
      <div className="table-scroll" ref={scroller}>
        <Head columns={columns} order={order} onOrder={changeOrder} />
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
                columns={columns}
                scheduler={scheduler}
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

interface RowWindowInput<R> {
  readonly shown: ReturnType<typeof useSteadyOrder<R>>;
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The id of the expanded row. */
  readonly opened: string | null;
}

/** Decides which rows are rendered, and sets the parent's `control`. */
function useRowWindow<R>(
  { idOf, keptId = null, control }: TableProps<R>,
  { shown, scroller, opened }: RowWindowInput<R>,
) {
  const [rangeExtractor] = useState(createWindow);
  const keptIndex = keptId === null ? -1 : shown.rows.findIndex(row => idOf(row) === keptId);
  const virtual = useVirtualizer({
    count: shown.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => {
      const row = shown.rows[index];
      return row !== undefined && idOf(row) === opened ? rowHeight + detailsHeight : rowHeight;
    },
    rangeExtractor: range => withKept(rangeExtractor(range), keptIndex),
  });
  useImperativeHandle(control, () => ({
    rows: shown.rows,
    unfreeze: shown.unfreeze,
    scrollTo: index => virtual.scrollToIndex(index),
  }));
  return virtual;
}

function Empty({ children }: { readonly children: ReactNode }) {
  return (
    <div className="table">
      <div className="table-empty">{children}</div>
    </div>
  );
}

/** Returns the index of the next row for an arrow key, j or k; null for other keys. */
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

/**
 * Returns the handlers that open a row, which the table shares among all rows. A new handler for each row would
 * re-render every row.
 */
function openHandlers<R>(rows: readonly R[], onOpen: ((row: R) => void) | undefined) {
  const open = (element: Element | null): void => {
    const row = element instanceof HTMLElement ? rows[Number(element.dataset['row'])] : undefined;
    if (row !== undefined) onOpen?.(row);
  };
  return {
    onClick({ target }: MouseEvent): void {
      // React lets events of a row's menu bubble to this handler, although the menu's elements are outside the row.
      if (target instanceof Element && target.closest('a, button, input, label') === null)
        open(target.closest('[data-row]'));
    },
    onEnter({ target }: KeyboardEvent): void {
      if (target instanceof Element) open(target);
    },
  };
}

interface HeadProps<R> {
  readonly columns: readonly Column<R>[];
  readonly order: Order | null;
  readonly onOrder: (column: string) => void;
}

function Head<R>({ columns, order, onOrder }: HeadProps<R>) {
  return (
    <div className="table-head" role="row" aria-rowindex={1}>
      {columns.map(column => (
        <div
          key={column.id}
          role="columnheader"
          data-column={column.id}
          data-align={column.align}
          aria-sort={sortOf(order, column.id)}
          title={column.hint}
        >
          {column.sortBy === undefined ? (
            <span className={column.isTitleHidden === true ? 'unseen' : undefined}>{column.title}</span>
          ) : (
            <button type="button" className="table-sort" onClick={() => onOrder(column.id)}>
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
  readonly columns: readonly Column<R>[];
  readonly scheduler: CellScheduler;
  readonly nameOf: (row: R) => string;
  readonly details: ((row: R) => ReactNode) | undefined;
  /** Undefined when rows of this table cannot be expanded. */
  readonly isOpen: boolean | undefined;
}

/** One row of the table. It re-renders only when its data or its position changes. */
function Row<R>({ row, index, top, columns, scheduler, nameOf, details, isOpen }: RowProps<R>) {
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
        style={{ ...(isOpen === true ? openRow : closedRow), transform: `translateY(${top}px)` }}
      >
        <Cells row={row} columns={columns} scheduler={scheduler} />
        {isOpen === true && (
          <div role="gridcell" className="table-details">
            {details?.(row)}
          </div>
        )}
      </div>
    ),
    [row, index, top, columns, scheduler, name, details, isOpen],
  );
}

/** The cells of a row. They re-render only when the data of the row changes. */
function Cells<R>({ row, columns, scheduler }: Pick<RowProps<R>, 'row' | 'columns' | 'scheduler'>) {
  const [isRendered, setRendered] = useState(false);
  useEffect(() => scheduler.schedule(() => setRendered(true)), [scheduler]);
  return useMemo(
    () =>
      isRendered &&
      columns.map(column => (
        <div key={column.id} role="gridcell" data-column={column.id} data-align={column.align}>
          {column.cell(row)}
        </div>
      )),
    [row, columns, isRendered],
  );
}

/** Sum of the left and the right padding of a row in theme.css, in pixels. */
const rowPadding = 24;

/** Returns the grids that the header and all rows share, so that columns align. theme.css chooses the phone grid on phones. */
function gridOf(columns: readonly Pick<Column<never>, 'width' | 'phoneWidth'>[]): GridStyle {
  const widths = columns.map(({ width }) => width);
  const phoneWidths = columns.map(({ width, phoneWidth = width }) => phoneWidth);
  return {
    '--columns': widths.join(' '),
    '--min-width': minWidth(widths),
    '--phone-columns': phoneWidths.join(' '),
    '--phone-min-width': minWidth(phoneWidths),
  };
}

type GridStyle = CSSProperties & Readonly<Record<`--${string}`, string>>;

function minWidth(widths: readonly string[]): string {
  // The first length of a width is its minimum.
  const fixedPx = widths.reduce((sum, width) => sum + Number(/\d+(?=px)/.exec(width)?.[0] ?? 0), rowPadding);
  return `calc(${fixedPx}px + ${widths.length - 1} * var(--column-gap))`;
}

const sortOf = (order: Order | null, column: string): 'ascending' | 'descending' | 'none' => {
  if (order?.column !== column) return 'none';
  return order.isDescending ? 'descending' : 'ascending';
};
