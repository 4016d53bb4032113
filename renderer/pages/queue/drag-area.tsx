import { type PointerEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { shownName } from '../../../protocol/job-about.ts';
import { rowHeight } from '../../ui/table.tsx';
import { MoveContext, MoveBar, refusalText } from './grip.tsx';
import type { QueueRow } from './order.ts';
import { useQueueT } from './texts.ts';
import { useEdgeScroll } from './use-edge-scroll.ts';
import type { MoveControl } from './use-moving.ts';

/** A pointer movement of at most this many pixels is a click. */
const clickPx = 4;

interface DragAreaProps {
  readonly control: MoveControl;
  readonly rowOf: (id: string) => QueueRow | undefined;
  readonly children: ReactNode;
}

/** Makes the rows of the table inside draggable by their grips. A click on a grip has the same effect as Space. */
export function DragArea({ control, rowOf, children }: DragAreaProps) {
  const { moving } = control;
  const box = useRef<HTMLDivElement>(null);
  const ghost = useRef<HTMLDivElement>(null);
  const pressed = useRef<Pressed | null>(null);
  const pointerY = useRef(0);
  const isDragged = moving?.by === 'pointer';

  const pointToGap = (): void => {
    const body = box.current?.querySelector('.table-body');
    if (body === null || body === undefined) return;
    control.pointTo(Math.round((pointerY.current - body.getBoundingClientRect().top) / rowHeight));
  };
  useEdgeScroll({ isOn: isDragged, box, pointer: pointerY, onScroll: pointToGap });
  // Restore the focus on the grip. The focus is lost when the list moves the row, or when the move bar disappears.
  const { ended } = control;
  useEffect(() => {
    if (ended?.by !== 'keys' || !isFocusLost()) return;
    gripOf(box.current, ended.job.id)?.focus();
  }, [ended]);
  const newest = useRef(control);
  newest.current = control;
  useEffect(() => {
    const onKeyDown = ({ key }: globalThis.KeyboardEvent): void => {
      if (key !== 'Escape' || newest.current.movedBy() !== 'pointer') return;
      pressed.current = null;
      newest.current.cancel();
    };
    // Listen in the capture phase, because the focused grip also handles Escape.
    addEventListener('keydown', onKeyDown, true);
    return () => removeEventListener('keydown', onKeyDown, true);
  }, []);

  const onPointerDown = ({ target, button, pointerId, clientX, clientY }: PointerEvent): void => {
    const grip = target instanceof Element ? target.closest<HTMLElement>('[data-grip]') : null;
    const row = grip === null ? undefined : rowOf(grip.dataset['grip'] ?? '');
    if (row === undefined || button !== 0) return;
    // Capture the pointer on the area, because the grip is removed from the page when its row scrolls out of view.
    box.current?.setPointerCapture(pointerId);
    pressed.current = { row, x: clientX, y: clientY, pointerId };
  };
  const onPointerMove = ({ clientX, clientY, pointerId }: PointerEvent): void => {
    const from = pressed.current;
    if (from === null || from.pointerId !== pointerId) return;
    pointerY.current = clientY;
    // Do not use `isDragged`, because several events can arrive before the next render.
    if (control.movedBy() !== 'pointer') {
      if (Math.hypot(clientX - from.x, clientY - from.y) < clickPx) return;
      control.start(from.row.job, 'pointer');
    }
    if (ghost.current !== null) ghost.current.style.transform = `translate(${clientX}px, ${clientY}px)`;
    pointToGap();
  };
  const onPointerUp = ({ pointerId }: PointerEvent): void => {
    const from = pressed.current;
    if (from === null || from.pointerId !== pointerId) return;
    pressed.current = null;
    if (control.movedBy() === 'pointer') return void control.drop();
    const isGrabbed = moving?.job.id === from.row.job.id;
    if (isGrabbed) void control.drop();
    else control.start(from.row.job, 'keys');
    gripOf(box.current, from.row.job.id)?.focus();
  };
  const onPointerCancel = (): void => {
    pressed.current = null;
    if (control.movedBy() === 'pointer') control.cancel();
  };
  return (
    <MoveContext value={control}>
      <MoveBar control={control} />
      <div
        ref={box}
        className="drag-area"
        data-dragging={isDragged}
        {...{ onPointerDown, onPointerMove, onPointerUp, onPointerCancel }}
      >
        {children}
      </div>
      <Ghost control={control} box={ghost} />
    </MoveContext>
  );
}

const gripOf = (box: HTMLElement | null, id: string): HTMLElement | null =>
  box?.querySelector<HTMLElement>(`[data-grip="${CSS.escape(id)}"]`) ?? null;

const isFocusLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body;

interface Pressed {
  readonly row: QueueRow;
  readonly x: number;
  readonly y: number;
  readonly pointerId: number;
}

/** A label that follows the pointer. It shows the name of the dragged job, and why the job cannot be dropped here. */
function Ghost({
  control: { moving },
  box,
}: {
  readonly control: MoveControl;
  readonly box: RefObject<HTMLDivElement | null>;
}) {
  const t = useQueueT();
  const isShown = moving?.by === 'pointer';
  const refused = isShown && moving.plan.kind === 'refused' ? refusalText(moving.job, moving.plan, t) : null;
  return (
    <div
      ref={box}
      className="drag-ghost"
      hidden={!isShown}
      data-refused={refused !== null}
      aria-hidden="true"
    >
      {isShown && (
        <>
          <strong>{shownName(moving.job)}</strong>
          {refused !== null && <span>{refused}</span>}
        </>
      )}
    </div>
  );
}
