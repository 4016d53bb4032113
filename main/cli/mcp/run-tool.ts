import { Problem } from '../../../protocol/problem.ts';
import { parseJson, piecesOf, type Send } from '../../../protocol/client.ts';
import type { Tool } from './tools.ts';

/** The result of a tool, as the Model Context Protocol defines it. */
export interface ToolResult {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
}

/** Maximum length of a response in characters. A longer response would fill the context of a language model. */
const maxResponse = 60_000;

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly fetch: Send;
}

/** Calls the operation of a tool. A failed call yields a result with `isError`, so that the model can read the reason. */
export async function runTool(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  target: Target,
): Promise<ToolResult> {
  const { method } = tool.operation;
  try {
    const response = await target.fetch(urlFor(tool, input, target.url), {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${target.token}`,
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
      },
      ...(method !== 'GET' && { body: JSON.stringify(input['body'] ?? {}) }),
    });
    const text = response.body === null ? '' : await readBounded(piecesOf(response.body));
    return response.ok ? textResult(text) : failed(reasonIn(text, response.status));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const uncertain = method === 'GET' ? '' : ' The change may have been made: check before you repeat it.';
    return failed(`The orchestrator at ${target.url} did not answer: ${reason}.${uncertain}`);
  }
}

const timeoutMs = 60_000;

function urlFor({ operation }: Tool, input: Readonly<Record<string, unknown>>, baseUrl: string): URL {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    // A key such as "samples/1.png" keeps its slashes. A segment that consists of dots is removed, because it would change the
    // path.
    asText(input[name] ?? '')
      .split('/')
      .map(part => (/^\.+$/.test(part) ? '' : encodeURIComponent(part)))
      .join('/'),
  );
  const url = new URL(baseUrl.replace(/\/+$/, '') + path);
  for (const { name, in: place } of operation.parameters) {
    const value = input[name];
    if (place === 'query' && value !== undefined && value !== null) url.searchParams.set(name, asText(value));
  }
  return url;
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Reads at most `maxResponse` characters of a response. Ends a truncated text with a note for the model. */
async function readBounded(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > maxResponse)
      return `${text.slice(0, maxResponse)}\n[The response is longer than ${maxResponse} characters. Ask for less: use a filter, a limit, or one item.]`;
  }
  return text + decoder.decode();
}

function reasonIn(text: string, status: number): string {
  const problem = Problem.safeParse(parseJson(text));
  if (!problem.success) return `The orchestrator answered with status ${status}.`;
  const { title, detail, code, errors = [] } = problem.data;
  const fields = errors.map(({ field, message }) => `${field}: ${message}`).join('\n');
  return [`${title} (${code}, status ${status})`, detail ?? '', fields]
    .filter(part => part !== '')
    .join('\n');
}

const textResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }] });

const failed = (text: string): ToolResult => ({ ...textResult(text), isError: true });
