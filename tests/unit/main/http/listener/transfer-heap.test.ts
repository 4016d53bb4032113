import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createTransferHeap } from '../../../../../main/http/listener/transfer-heap.ts';

test('raises the heap limit from the first transfer until the last one ends', () => {
  const limits: number[] = [];
  const heap = createTransferHeap(percent => limits.push(percent));
  const [first, second] = [new EventEmitter(), new EventEmitter()];
  const hold = (response: EventEmitter) =>
    heap.track(response as unknown as Parameters<typeof heap.track>[0]);
  hold(first);
  hold(second);
  first.emit('close');
  expect(limits).toEqual([300]);
  second.emit('close');
  expect(limits).toEqual([300, 0]);
});
