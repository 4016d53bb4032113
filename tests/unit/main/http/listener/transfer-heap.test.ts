import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createTransferHeap } from '../../../../../main/http/listener/transfer-heap.ts';

test('raises the growth of the heap from the first transfer until the last one ends', () => {
  // The growth of the heap between two collections, in percent; 0 is the default of V8.
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
