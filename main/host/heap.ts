import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Clients that were connected before the restart have reconnected by then. */
const settleAfterMs = 2_000;

/**
 * Keeps the heap small after startup (docs/adr/0023). V8 lets the young generation grow from 2 to 64 MB at the first burst.
 * Almost everything that a request allocates is garbage once it is answered, so a small one is no slower. Returns a function that
 * cancels the pending collection.
 */
export function keepHeapSmall(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  const timer = setTimeout(giveBack, settleAfterMs);
  return () => clearTimeout(timer);
}

/**
 * Frees the memory of startup in about 20 ms. V8 shrinks an idle heap on its own, but only after a first full collection, which
 * an idle server never reaches.
 */
function giveBack(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  setFlagsFromString('--no-expose-gc');
}
