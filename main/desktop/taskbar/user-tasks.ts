import type { Task } from 'electron';
import { type Shortcut, shortcutLink } from '../links/links.ts';
import type { Words } from '../words/index.ts';

/** Returns the entries of the taskbar or dock menu, with their labels. */
export const shortcuts = ({ menu }: Pick<Words, 'menu'>): readonly (readonly [Shortcut, string])[] => [
  ['new-job', menu.newJob],
  ['jobs', menu.jobs],
  ['workers', menu.workers],
];

/**
 * Returns the tasks for the jump list on Windows. Each task starts the program with a link, which the running app then opens.
 */
export const userTasks = (program: string, words: Pick<Words, 'menu'>): Task[] =>
  shortcuts(words).map(([name, title]) => ({
    program,
    arguments: `-- ${shortcutLink(name)}`,
    iconPath: program,
    iconIndex: 0,
    title,
    description: title,
  }));
