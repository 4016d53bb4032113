import type { Progress } from '../../protocol/reports.ts';
import type { Screen } from './invocation.ts';
import { cutLine } from './table.ts';

/** Width of the bar in characters. */
const width = 30;

/** Returns one line with the bar, and with step, loss and remaining time if they are known. */
function progressLine(progress: Progress): string {
  const { step, total_steps: total, loss, eta_s: eta } = progress;
  const parts = [
    bar(progress.percent ?? 0),
    step === undefined ? undefined : `step ${step}${total === undefined ? '' : `/${total}`}`,
    loss === undefined ? undefined : `loss ${loss.toPrecision(3)}`,
    eta === undefined ? undefined : `${duration(eta)} left`,
  ];
  return parts.filter(part => part !== undefined).join('  ');
}

/** Returns a bar followed by the percentage. */
export function bar(percent: number): string {
  const share = Math.min(1, Math.max(0, percent / 100));
  const filled = Math.round(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(Math.round(share * 100)).padStart(3)} %`;
}

/** Formats seconds, such as `45 s`, `3 min 5 s` or `2 h 10 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export interface ProgressDisplay<P = Progress> {
  show(progress: P): void;
  /** Ends the display. The last line stays on the screen. */
  finish(): void;
}

/** Updates one line on a terminal. Prints nothing into a file or pipe. */
export const createProgressDisplay = (
  write: (text: string) => void,
  screen: () => Screen | null,
): ProgressDisplay => createDisplay(write, screen, progressLine);

/** Like `createProgressDisplay`, for any other kind of progress. */
export function createDisplay<P extends Pick<Progress, 'percent'>>(
  write: (text: string) => void,
  screen: () => Screen | null,
  lineOf: (progress: P) => string,
): ProgressDisplay<P> {
  let isOpen = false;
  return {
    show(progress) {
      const size = screen();
      if (size === null) return;
      write(`\r\u001b[2K${cutLine(lineOf(progress), size.columns - 1)}`);
      isOpen = true;
    },
    finish() {
      if (isOpen) write('\n');
      isOpen = false;
    },
  };
}
