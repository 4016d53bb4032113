/** Tests that the disconnect call is the last call of an agent. The server treats a later call as the return of the worker. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentDeps } from '../../../../agent/session/agent.ts';
import {
  nextHeartbeat,
  useFakeTimers,
  advanceTimeUntil,
  startAgentWithJob,
  openTokenHolder,
} from '../agent-fixture.ts';
import { tempFolder } from '../builders.ts';
import { type Answer, heartbeatReply, type Call, refused } from '../scripted-orchestrator.ts';

useFakeTimers();

const accepted: Answer = { status: 200, body: { success: true } };

/** Starts an agent that leaves after its final report, while an earlier progress report is still unanswered. */
async function startLeaving() {
  const fixture = await startAgentWithJob();
  const { orchestrator, run, agent } = fixture;
  const answer = Promise.withResolvers<Answer>();
  orchestrator.answers.status = ({ body }: Call) =>
    body['status'] === 'running' ? answer.promise : accepted;
  const reports = orchestrator.count('status');
  run.listeners.onProgress({ step: 5 });
  // The agent sends at most one report per second, so the progress follows a second after the start report.
  await advanceTimeUntil(orchestrator.arrived('status', reports + 1));
  agent.leave();
  run.end(0);
  await orchestrator.reported('completed');
  return { ...fixture, answer };
}

it('waits for outstanding responses before it disconnects', async () => {
  const { orchestrator, exit, answer } = await startLeaving();
  const order: string[] = [];
  setTimeout(() => {
    order.push('answer');
    answer.resolve(accepted);
  }, 1_500);
  orchestrator.answers.disconnect = () => {
    order.push('disconnect');
    return accepted;
  };
  expect(await advanceTimeUntil(exit)).toBe(0);
  expect(order).toEqual(['answer', 'disconnect']);
});

it('disconnects although a response stays outstanding', async () => {
  const { orchestrator, exit } = await startLeaving();
  expect(await advanceTimeUntil(exit)).toBe(0);
  expect(orchestrator.count('disconnect')).toBe(1);
});

describe('outstanding uploads', () => {
  /** Starts an agent that leaves after the end of its job. Resolves when the agent waits for uploads. */
  const startUploading = async (
    persistent: boolean,
    options: Parameters<typeof startAgentWithJob>[0] = {},
  ) => {
    const waits: { readonly withinMs: number; readonly hurry: AbortSignal }[] = [];
    const uploaded = Promise.withResolvers<void>();
    const waiting = Promise.withResolvers<void>();
    const outputs: AgentDeps['outputs'] = {
      follow: () => Promise.resolve(),
      finish: () => false,
      rescue: async () => {},
      hasten: () => false,
      saved: () => 'none',
      saveMs: () => null,
      leave(withinMs, hurry) {
        waits.push({ withinMs, hurry });
        waiting.resolve();
        hurry.addEventListener('abort', () => uploaded.resolve());
        return uploaded.promise;
      },
    };
    const fixture = await startAgentWithJob({ ...options, persistent, outputs });
    fixture.run.end(0);
    await fixture.orchestrator.reported('completed');
    if (persistent) fixture.agent.leave();
    await advanceTimeUntil(waiting.promise);
    return { ...fixture, waits, uploaded };
  };

  it('sends heartbeats while an ephemeral worker waits for uploads before it leaves', async () => {
    const { orchestrator, waits, uploaded, exit } = await startUploading(false);
    expect(waits.map(({ withinMs }) => withinMs)).toEqual([600_000]);
    await nextHeartbeat(orchestrator);
    expect(orchestrator.count('disconnect')).toBe(0);
    uploaded.resolve();
    expect(await advanceTimeUntil(exit)).toBe(0);
    expect(orchestrator.calls.at(-1)?.name).toBe('disconnect');
  });

  it('uses the new token after a rotation while it waits for uploads', async () => {
    const path = join(tempFolder(), 'token');
    writeFileSync(path, 'wt_1\n', { mode: 0o600 });
    const token = openTokenHolder({ kind: 'file', path });
    const { orchestrator, uploaded, exit, logged } = await startUploading(false, { token });
    orchestrator.answers.heartbeat = ({ token: used }) => (used === 'wt_2' ? heartbeatReply() : refused(401));
    await nextHeartbeat(orchestrator);
    expect(token.current()).toBe('wt_1');
    writeFileSync(path, 'wt_2\n');
    await advanceTimeUntil(logged(`Took the new token from ${path}`));
    expect((await nextHeartbeat(orchestrator)).token).toBe('wt_2');
    uploaded.resolve();
    expect(await advanceTimeUntil(exit)).toBe(0);
    expect(orchestrator.calls.at(-1)).toMatchObject({ name: 'disconnect', token: 'wt_2' });
  });

  it('stops waiting for uploads on another signal, and waits only 5 s on a persistent worker', async () => {
    const ephemeral = await startUploading(false);
    ephemeral.agent.leave();
    expect(await advanceTimeUntil(ephemeral.exit)).toBe(0);
    const persistent = await startUploading(true);
    expect(persistent.waits.map(({ withinMs }) => withinMs)).toEqual([5_000]);
    persistent.uploaded.resolve();
    expect(await advanceTimeUntil(persistent.exit)).toBe(0);
  });
});
