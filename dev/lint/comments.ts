import { at, type Finding, lineOf, type SourceFile } from './source.ts';

const comment = /\/\*\*?\s*([\s\S]*?)\*\/|(?<=^\s*)\/\/ ([^\n]*(?:\n\s*\/\/ [^\n]*)*)/gm;

/** Openings of a relative clause. A comment that starts with one hides who does what. */
const relative =
  /^(?:Of (?:each|every|all|the|that|those)|Who|Whom|Whoever|Whatever|That which|For how (?:long|many)|(?:By|In|With|For|From) which|What (?:is|are|was|were|has|have|had|can|cannot|comes|came|goes))\b/;

/** Finds comments that open with a relative clause. */
export function findRelativeOpeners({ name, text }: SourceFile): readonly Finding[] {
  return [...text.matchAll(comment)].flatMap(({ 1: block, 2: line, index }) => {
    const words = (block ?? line ?? '').replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ').trim();
    return relative.test(words)
      ? [at(name, lineOf(text, index), `a comment opens with a relative clause: "${words.slice(0, 40)}"`)]
      : [];
  });
}
