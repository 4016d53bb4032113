/** Such as "RuntimeError: ...", "torch.cuda.OutOfMemoryError: ...", "error: ..." at the start of a line. */
const errorLine = /^(?:[\w.]*(?:Error|Exception|Interrupt|Exit)\b|(?:fatal|error|panic)\b)/i;
/** Traceback frames, their markers, and lines without letters, which explain nothing by themselves. */
const noise = /^(?:File "|Traceback \(|at \S+ \(|\^+$)|^[^\p{L}]*$/u;

/** Returns the line that states the error. A traceback ends with it, but a trainer may print more afterwards. */
export function lastErrorLine(error: string): string {
  const lines = error.split(/[\r\n]+/).map(line => line.trim());
  const last = lines.findLast(line => errorLine.test(line)) ?? lines.findLast(line => !noise.test(line));
  return last ?? error.trim();
}
