import type { Engine, LaunchAnswer, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import type { EngineCheck } from '../../../protocol/pool.ts';
import { cleanLine } from '../../../protocol/text.ts';
import type { RunProgram } from '../run-program.ts';
import { CheckAnswer, ListAnswer, OrderAnswer, namePrefix, toOrderMessage, toSightings } from './messages.ts';
import { ProgramError, createCallProgram, readAnswer } from './programs.ts';

export interface CommandEngineOptions {
  /** Id of the fleet, a part of the names of its launches. */
  readonly fleet: string;
  /** Folder with the user's programs `check`, `launch`, `list` and `end`. */
  readonly folder: string;
  /** Returns the shell commands that start the worker. The commands expect the join token in TRAINYARD_JOIN. */
  readonly start: (order: LaunchOrder) => string;
  readonly run: RunProgram;
}

const messageOf = (error: unknown): string =>
  cleanLine(error instanceof Error ? error.message : String(error)).slice(0, 2_000);

/**
 * Creates an engine that orders machines through four programs of the user. The programs read JSON from stdin and print JSON. The
 * input of `launch` contains the join token.
 */
export function createCommandEngine({ fleet, folder, start, run }: CommandEngineOptions): Engine {
  const call = createCallProgram(folder, run);

  async function check(): Promise<EngineCheck> {
    try {
      return readAnswer(CheckAnswer, 'check', await call('check', { fleet }));
    } catch (error) {
      return { ok: false, version: null, detail: messageOf(error), queues: [] };
    }
  }

  async function launch(order: LaunchOrder): Promise<LaunchAnswer> {
    try {
      const answer = await call('launch', toOrderMessage(fleet, order, start(order)));
      return readAnswer(OrderAnswer, 'launch', answer);
    } catch (error) {
      const message = messageOf(error);
      if (!(error instanceof ProgramError)) return { kind: 'unknown', message };
      if (error.isRefused) return { kind: 'rejected', scope: 'temporary', code: 'programs', message };
      // Unless the program printed `rejected`, it may have ordered the machine before it failed.
      const answer = OrderAnswer.safeParse(error.answer);
      return answer.success && answer.data.kind === 'rejected' ? answer.data : { kind: 'unknown', message };
    }
  }

  return {
    check,
    async launch(order) {
      const answer = await launch(order);
      if (answer.kind === 'accepted') return answer;
      // A program may print its input, which contains the token.
      return { ...answer, message: answer.message.replaceAll(order.joinToken, '...').slice(0, 300) };
    },
    async list() {
      const answer = await call('list', { fleet, prefix: namePrefix(fleet) });
      return toSightings(fleet, readAnswer(ListAnswer, 'list', answer).launches);
    },
    async end(ids, how) {
      if (ids.length === 0) return;
      await call('end', { fleet, names: ids.map(id => namePrefix(fleet) + id), how });
    },
  };
}
