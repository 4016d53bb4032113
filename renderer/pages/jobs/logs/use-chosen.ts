import { useCallback, useState } from 'react';
import type { JobId } from '../../../../protocol/ids.ts';
import { logsApi } from '../../../../protocol/logs-api.ts';
import { usePanel } from '../../../app/context.ts';
import { plainText } from './line-text.ts';

/** A range of selected lines: `first` is where the selection started, `last` where it ended. */
interface ChosenLines {
  readonly first: number;
  readonly last: number;
}

export interface Chosen {
  readonly lines: ChosenLines | null;
  readonly count: number;
  readonly has: (line: number) => boolean;
  /** Selects this line, or extends the selection to it. */
  readonly choose: (line: number, isUpTo: boolean) => void;
  readonly chooseNone: () => void;
  /** Returns the lines as plain text; null when they could not be read. */
  readonly text: () => Promise<string | null>;
}

/** For more lines there is the download. */
export const maxChosen = 10_000;
const readAtOnce = 2_000;

export function useChosen(id: JobId, attempt: number): Chosen {
  const { client } = usePanel();
  const [lines, setLines] = useState<ChosenLines | null>(null);
  const [low, high] =
    lines === null ? [0, -1] : [Math.min(lines.first, lines.last), Math.max(lines.first, lines.last)];
  const text = useCallback(async (): Promise<string | null> => {
    const texts: string[] = [];
    for (let line = low; line <= high; line += readAtOnce) {
      const query = { attempt, line, limit: Math.min(readAtOnce, high - line + 1) };
      // Read in sequence, because the parts form one text.
      const answer = await client.call(logsApi.read, { params: { id }, query });
      if (!answer.ok) return null;
      texts.push(...answer.value.lines.map(each => plainText(each.text)));
    }
    return texts.map(each => `${each}\n`).join('');
  }, [client, id, attempt, low, high]);
  return {
    lines,
    count: high - low + 1,
    has: line => line >= low && line <= high,
    choose: (line, isUpTo) =>
      setLines(was => (isUpTo && was !== null ? { ...was, last: line } : { first: line, last: line })),
    chooseNone: () => setLines(null),
    text,
  };
}
