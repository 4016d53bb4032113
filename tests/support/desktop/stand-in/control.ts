/** Lets a test inspect and control the stand-in through messages to the child process. */
import type { EventEmitter } from 'node:events';

export interface ShownItem {
  readonly label: string;
  readonly click?: (() => void) | undefined;
  readonly items: readonly ShownItem[];
}

/** The recorded calls of the app to the operating system. */
export interface Recorded {
  tray: readonly ShownItem[];
  tooltip: string;
  menu: readonly ShownItem[];
  readonly notifications: { readonly title: string; readonly body: string; readonly click: () => void }[];
  readonly questions: { readonly message: string; readonly detail: string }[];
  readonly openedOutside: string[];
  /** Ids of the active power save blockers. */
  readonly blockers: Set<number>;
  /** Progress on the taskbar; -1 for none. */
  progress: number;
  badge: number;
  isVisible: boolean;
  isMaximized: boolean;
  title: string;
  clipboard: string;
  killedRenderers: number;
}

export const recorded: Recorded = {
  tray: [],
  tooltip: '',
  menu: [],
  notifications: [],
  questions: [],
  openedOutside: [],
  blockers: new Set(),
  progress: -1,
  badge: 0,
  isVisible: false,
  isMaximized: false,
  title: '',
  clipboard: '',
  killedRenderers: 0,
};

/** The index of the pressed button for each of the next dialogs. */
export const answers: number[] = [];

export type Order =
  | { readonly do: 'inspect' }
  | { readonly do: 'emit'; readonly on: string; readonly event: string; readonly args: readonly unknown[] }
  | { readonly do: 'tray' | 'menu'; readonly label: string }
  | { readonly do: 'notification'; readonly at: number }
  | { readonly do: 'answer'; readonly with: number };

const labelsOf = (items: readonly ShownItem[]): readonly string[] =>
  items.flatMap(({ label, items: below }) => [label, ...labelsOf(below)]);

function click(items: readonly ShownItem[], label: string): void {
  const flatten = (list: readonly ShownItem[]): readonly ShownItem[] =>
    list.flatMap(item => [item, ...flatten(item.items)]);
  const target = flatten(items).find(item => item.label === label);
  if (target?.click === undefined)
    throw new Error(`there is no item to click with the label ${label} in ${labelsOf(items).join(', ')}`);
  target.click();
}

const inspect = () => ({
  ...recorded,
  tray: labelsOf(recorded.tray),
  menu: labelsOf(recorded.menu),
  notifications: recorded.notifications.map(({ title, body }) => ({ title, body })),
  blockers: recorded.blockers.size,
});
export type Inspection = ReturnType<typeof inspect>;

function execute(order: Order, emitters: ReadonlyMap<string, EventEmitter>): unknown {
  switch (order.do) {
    case 'inspect':
      return inspect();
    case 'emit':
      return emitters.get(order.on)?.emit(order.event, { preventDefault: () => undefined }, ...order.args);
    case 'tray':
      return click(recorded.tray, order.label);
    case 'menu':
      return click(recorded.menu, order.label);
    case 'notification':
      return recorded.notifications[order.at]?.click();
    case 'answer':
      return answers.push(order.with);
  }
}

export function listen(emitters: ReadonlyMap<string, EventEmitter>): void {
  process.on('message', ({ id, order }: { readonly id: number; readonly order: Order }) => {
    const answer = (reply: object): void => void process.send?.({ id, ...reply });
    try {
      answer({ value: execute(order, emitters) ?? null });
    } catch (cause) {
      answer({ error: String(cause) });
    }
  });
}
