/** Matches lines such as "RuntimeError: ...", "torch.cuda.OutOfMemoryError: ..." or "error: ...". */
const errorLine = /^(?:[\w.]*(?:Error|Exception|Interrupt|Exit)\b|(?:fatal|error|panic)\b)/i;
/** Matches lines that explain nothing by themselves: traceback frames, their markers, and lines without letters. */
const noise = /^(?:File "|Traceback \(|at \S+ \(|\^+$)|^[^\p{L}]*$/u;

/**
 * Returns the line that states the error. A traceback ends with this line, but the trainer may print more lines later.
 */
export function lastErrorLine(error: string): string {
  const lines = error.split(/[\r\n]+/).map(line => line.trim());
  const last = lines.findLast(line => errorLine.test(line)) ?? lines.findLast(line => !noise.test(line));
  return last ?? error.trim();
}
