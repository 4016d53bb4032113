import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Those that were there before are back by then. */
const settleAfterMs = 2_000;

/**
 * Keeps the heap small from now on, once the start is over (docs/adr/0023). V8 lets the space for new objects grow from 2 to 64 MB with the
 * first burst; almost all that a call makes is dead when it is answered, so that a small one is no slower. The answer ends what is
 * still to come of it.
 */
export function keepHeapSmall(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  const timer = setTimeout(giveBack, settleAfterMs);
  return () => clearTimeout(timer);
}

/**
 * What the start has taken, and needs no more: some 20 ms. V8 does it by itself when little happens, but only once it has collected all
 * of its heap for the first time, and a server that does little never comes to that.
 */
function giveBack(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  setFlagsFromString('--no-expose-gc');
}
