import { parseArgs } from 'node:util';
import { linkAmong } from './link.ts';

/** Command-line arguments of the app. Electron and the operating system add arguments of their own. */
export interface Arguments {
  /** Flags by name, as for `trainyard server`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Starts without a window, as at login, until the user opens one. */
  readonly isHidden: boolean;
  /** The `trainyard://` link that the user clicked. */
  readonly link: string | null;
}

const known = ['data-dir', 'configs-dir', 'port', 'host', 'config'] as const;

export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(known.map(name => [name, { type: 'string' } as const])),
      hidden: { type: 'boolean' },
    },
    strict: false,
  });
  const flags = known.flatMap(name => {
    const value = values[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { flags: Object.fromEntries(flags), isHidden: values['hidden'] === true, link: linkAmong(args) };
}
