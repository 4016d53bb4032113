import { stripVTControlCharacters, styleText } from 'node:util';

/** Prints a text of one or several lines. */
export type Voice = (text: string) => void;

const colours = { dev: 'bold', server: 'green', panel: 'cyan', fleet: 'yellow' } as const;
type Speaker = keyof typeof colours;

const width = Math.max(...Object.keys(colours).map(name => name.length));

/** Combines the output of several programs; each line starts with its program's name. Colours are for terminals only. */
export const createVoices =
  (write: (text: string) => void, isColourful: boolean) =>
  (speaker: Speaker): Voice => {
    const name = `${speaker.padEnd(width)} |`;
    const mark = isColourful ? styleText(colours[speaker], name, { validateStream: false }) : name;
    return text => {
      const lines = (isColourful ? text : stripVTControlCharacters(text)).split(/\r?\n/);
      for (const line of lines) if (line.trim() !== '') write(`${mark} ${line}\n`);
    };
  };
