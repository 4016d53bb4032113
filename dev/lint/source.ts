/** A file of the repository; `name` is its path from the root, with slashes. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** One finding, as `file:line: message`. */
export type Finding = string;

export const at = (file: string, line: number, message: string): Finding => `${file}:${line}: ${message}`;

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
