import { type AnswerBody, piecesOf } from '../../protocol/client.ts';

/** Yields the body as text while it arrives. Fails like `piecesOf`. */
export async function* textsOf(body: AnswerBody): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(body)) yield decoder.decode(piece, { stream: true });
}
