import assert from 'node:assert/strict';
import { type HttpExchange, reports } from '../support/chaos-proxy.ts';
import { readStored } from '../support/database-evidence.ts';
import type { Scenario } from './scenario.ts';
import { waitForHeartbeats, expectOneAttempt, expectUninterruptedEnd, fieldOf, reportsOf } from './steps.ts';

export const lostAnswers: readonly Scenario[] = [
  {
    id: 'F13',
    title: 'starts only one trainer when the response to a claim is lost',
    quick: true,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.startRig('rig-1');
      rig.proxy.rule({ where: reports('starting'), action: 'reset_answer', times: 1 });
      const job = await fleet.submit();
      const pid = await fleet.waitForTrainer(job);
      assert.deepEqual(
        reportsOf(rig, job, 'starting').map(({ answer, delivered }) => [answer?.status, delivered]),
        [
          [200, false],
          [200, true],
        ],
      );
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
  {
    id: 'F13',
    title:
      'completes a job once when the response to its final report is lost and the orchestrator is killed',
    quick: false,
    async run(fleet) {
      const { server, events } = fleet;
      await server.start();
      const rig = await fleet.startRig('rig-1');
      const job = await fleet.submit();
      const pid = await fleet.waitForTrainer(job);
      rig.proxy.rule({ where: reports('completed'), action: 'reset_answer', times: 1 });
      const allowReports = rig.proxy.rule({ where: reports('completed'), action: 'reset' });
      job.finish();
      await rig.proxy.waitFor(
        'the answer to the final report',
        () => reportsOf(rig, job, 'completed')[0]?.answer,
      );
      await server.killAndWait();
      assert.equal(readStored(server.databaseFile).jobs.get(job.id), 'completed');
      // Drop these calls too. Their responses would tell the agent that the job has ended, so the agent would not repeat the
      // final report.
      const removeRules = ['/register', '/heartbeat'].map(call => rig.proxy.rule({ call, action: 'reset' }));
      await server.start();
      allowReports();
      const last = await rig.proxy.waitFor('an answer that arrives', () =>
        reportsOf(rig, job, 'completed').find(({ delivered }) => delivered),
      );
      assert.partialDeepStrictEqual(last.answer, { status: 200, body: { success: true, duplicate: true } });
      for (const removeRule of removeRules) removeRule();
      await expectOneAttempt(fleet, job, pid);
      assert.equal(events.events.filter(({ type }) => type === 'job.completed').length, 1);
      // The agent has received the response, so it does not repeat the report.
      await waitForHeartbeats(rig, 2);
      assert.equal(reportsOf(rig, job, 'completed').at(-1), last);
    },
  },
  {
    id: 'F14',
    title: "changes no status when every POST of an agent is replayed, even during the agent's next job",
    quick: false,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.createRig('rig-1');
      rig.proxy.rule({ call: 'POST ', action: 'duplicate' });
      rig.start();
      await fleet.events.worker(rig.id, 'worker.connected');
      const first = await fleet.submit();
      await expectUninterruptedEnd(fleet, first, await fleet.waitForTrainer(first));
      await waitForHeartbeats(rig, 1);
      const oldCalls = [...rig.proxy.calls('POST ')];
      for (const call of oldCalls) await rig.proxy.replay(call);
      await waitForHeartbeats(rig, 1);

      const second = await fleet.submit();
      const pid = await fleet.waitForTrainer(second);
      await fleet.events.job(second.id, 'job.running');
      const from = fleet.events.events.length;
      for (const call of oldCalls) {
        const { status, body } = await rig.proxy.replay(call);
        const description = `${call.text} replayed: ${JSON.stringify(body)}`;
        if (call.path.endsWith('/status'))
          assert.equal(status, fieldOf(call.body, 'status') === 'completed' ? 200 : 409, description);
        // The server has already stored these logs and points, so the response contains the stored position.
        if (/\/(?:logs|metrics)$/.test(call.path))
          assert.deepEqual(
            [status, fieldOf(body, 'next')],
            [200, lastPosition(oldCalls, call.path)],
            description,
          );
      }
      await waitForHeartbeats(rig, 2);
      const changes = fleet.events.events.slice(from).filter(({ type }) => type !== 'job.progress');
      assert.deepEqual(changes, []);
      await expectUninterruptedEnd(fleet, second, pid);
    },
  },
];

/** Returns the highest position in the responses to calls of this path. */
const lastPosition = (calls: readonly HttpExchange[], path: string): number =>
  Math.max(
    ...calls.filter(call => call.path === path).map(({ answer }) => Number(fieldOf(answer?.body, 'next'))),
  );
