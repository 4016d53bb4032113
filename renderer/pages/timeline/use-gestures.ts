import { type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react';
import type { PlacedBar } from './layout.ts';
import { pan, type Scale, xToTime } from './scale.ts';
import type { View } from './use-view.ts';

/** Distance in pixels that the pointer must move before a press counts as a drag. */
const dragPx = 4;
/** Zoom factor per pixel of wheel movement. One step of a mouse wheel changes the range by about a fifth. */
const wheelFactor = 1.002;

interface GestureOptions {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly scale: Scale;
  readonly view: View;
  /** Returns the bar at a point of the canvas (in pixels); null for none. */
  readonly find: (x: number, y: number) => PlacedBar | null;
  readonly onOpen: (bar: PlacedBar) => void;
}

interface Drag {
  readonly x: number;
  readonly scale: Scale;
  readonly isMoving: boolean;
}

/** Handles the pointer: drags and the horizontal wheel pan, the wheel with Ctrl zooms, and a click opens a bar. */
export function useGestures({ canvas, scale, view, find, onOpen }: GestureOptions) {
  const [hovered, setHovered] = useState<PlacedBar | null>(null);
  const drag = useRef<Drag | null>(null);
  const current = useRef({ scale, view });
  current.current = { scale, view };
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      const { scale: shown, view: now } = current.current;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        now.scaleBy(wheelFactor ** event.deltaY, xToTime(shown, event.offsetX));
        return;
      }
      // Let the browser scroll the rows and the page on a vertical wheel movement.
      if (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
      event.preventDefault();
      // With Shift, some browsers report a vertical wheel movement as horizontal, so add both.
      const byPx = event.shiftKey ? event.deltaY + event.deltaX : event.deltaX;
      now.panBy(byPx / shown.width);
    };
    // Add the listener here, because React's wheel listeners are passive and cannot prevent the browser's zoom.
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [canvas]);

  const pointOf = ({ nativeEvent }: PointerEvent): readonly [number, number] => [
    nativeEvent.offsetX,
    nativeEvent.offsetY,
  ];
  return {
    hovered,
    handlers: {
      onPointerDown(event: PointerEvent) {
        if (event.button !== 0) return;
        drag.current = { x: event.clientX, scale, isMoving: false };
        event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove(event: PointerEvent) {
        const activeDrag = drag.current;
        if (activeDrag === null) return setHovered(find(...pointOf(event)));
        const moved = event.clientX - activeDrag.x;
        if (!activeDrag.isMoving && Math.abs(moved) < dragPx) return undefined;
        drag.current = { ...activeDrag, isMoving: true };
        setHovered(null);
        const { from, to, width } = activeDrag.scale;
        return view.show(pan({ from, to }, (-moved / width) * (to - from)));
      },
      onPointerUp(event: PointerEvent) {
        const activeDrag = drag.current;
        drag.current = null;
        if (activeDrag === null || activeDrag.isMoving) return;
        const bar = find(...pointOf(event));
        if (bar !== null) onOpen(bar);
      },
      onPointerCancel() {
        drag.current = null;
      },
      onPointerLeave() {
        setHovered(null);
      },
    },
  };
}
