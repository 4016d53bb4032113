import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createTransferHeap } from '../../../../../main/http/listener/transfer-heap.ts';

test('raises the allowed heap growth from the start of the first transfer to the end of the last transfer', () => {
  // Allowed heap growth between two garbage collections, in percent. 0 restores the default of V8.
  const growths: number[] = [];
  const heap = createTransferHeap(percent => growths.push(percent));
  const [first, second] = [new EventEmitter(), new EventEmitter()];
  const track = (response: EventEmitter) =>
    heap.track(response as unknown as Parameters<typeof heap.track>[0]);
  track(first);
  track(second);
  first.emit('close');
  expect(growths).toEqual([300]);
  second.emit('close');
  expect(growths).toEqual([300, 0]);
});
