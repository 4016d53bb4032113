import { type AnswerBody, piecesOf } from '../../protocol/client.ts';

/** What comes, as it comes, as text; as `piecesOf`. */
export async function* textsOf(body: AnswerBody): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(body)) yield decoder.decode(piece, { stream: true });
}
