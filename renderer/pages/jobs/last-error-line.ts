/** "RuntimeError: ...", "torch.cuda.OutOfMemoryError: ...", "error: ..." at the beginning of a line. */
const errorLine = /^(?:[\w.]*(?:Error|Exception|Interrupt|Exit)\b|(?:fatal|error|panic)\b)/i;
/** Frames of a traceback, their marks, and lines without a letter say nothing by themselves. */
const noise = /^(?:File "|Traceback \(|at \S+ \(|\^+$)|^[^\p{L}]*$/u;

/**
 * The line of an error that says what went wrong. A traceback ends with it; what a trainer prints may go on for a while after
 * it.
 */
export function lastErrorLine(error: string): string {
  const lines = error.split(/[\r\n]+/).map(line => line.trim());
  const last = lines.findLast(line => errorLine.test(line)) ?? lines.findLast(line => !noise.test(line));
  return last ?? error.trim();
}
