import type { AnswerBody } from '../../protocol/client.ts';

/** What comes, as it comes, as text. Throws when the way breaks; whoever stops reading ends it. */
export async function* textsOf(body: AnswerBody): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      yield decoder.decode(next.value, { stream: true });
  } finally {
    // One that broke has said so by now.
    await reader.cancel().catch(() => undefined);
  }
}
