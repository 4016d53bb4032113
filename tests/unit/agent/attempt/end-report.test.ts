import { describe, expect, it } from 'vitest';
import { endReport } from '../../../../agent/attempt/reports.ts';
import type { ExitRecord, Order } from '../../../../agent/guard/guard-files.ts';
import { StatusReport } from '../../../../protocol/worker-api.ts';

const exit = (overrides: Partial<ExitRecord> = {}): ExitRecord => ({
  code: null,
  signal: null,
  stopped: null,
  startError: null,
  tail: '',
  ...overrides,
});
const terminated = exit({ signal: 'SIGTERM', tail: 'step 5' });

describe('endReport', () => {
  it.each<[string, ExitRecord | null, Order | null, object]>([
    ['that succeeded', exit({ code: 0 }), null, { status: 'completed', exit_code: 0 }],
    ['that succeeded despite a late cancel', exit({ code: 0 }), 'cancel', { status: 'completed' }],
    [
      'that succeeded just before it was stopped for lost contact',
      exit({ code: 0, stopped: 'lost_contact' }),
      null,
      { status: 'completed' },
    ],
    ['that was cancelled', terminated, 'cancel', { status: 'cancelled', signal: 'SIGTERM' }],
    [
      'whose worker was ordered to leave',
      terminated,
      'leave_now',
      { cause: 'preempted', error: 'The worker was stopped. Training was ended by SIGTERM\nstep 5' },
    ],
    [
      'that lost contact',
      { ...terminated, stopped: 'lost_contact' },
      null,
      {
        status: 'failed',
        cause: 'worker_lost',
        signal: 'SIGTERM',
        error:
          'Stopped because contact with the orchestrator was lost (on_lost_contact: stop). Training was ended by SIGTERM\nstep 5',
      },
    ],
    [
      'that lost contact before it started',
      exit({ stopped: 'lost_contact' }),
      null,
      { cause: 'worker_lost', error: expect.stringContaining('Training was not started') },
    ],
    [
      'that lost contact before its cancel arrived',
      { ...terminated, stopped: 'lost_contact' },
      'cancel',
      { status: 'cancelled' },
    ],
    [
      'that failed by itself',
      exit({ code: 3, tail: 'boom' }),
      null,
      { status: 'failed', error: 'Training exited with code 3\nboom', exit_code: 3 },
    ],
    [
      'that could not be started',
      exit({ startError: 'No trainer found' }),
      null,
      { cause: 'start_failed', error: 'No trainer found' },
    ],
    [
      'on a machine without SimpleTuner',
      exit({ code: 1, tail: "No module named 'simpletuner'" }),
      null,
      { cause: 'start_failed', error: expect.stringMatching(/^No trainer found: SimpleTuner/) },
    ],
    [
      'whose guard is gone',
      null,
      null,
      { cause: 'worker_lost', error: expect.stringContaining('ended unexpectedly') },
    ],
    ['that was cancelled, and whose guard is gone', null, 'cancel', { status: 'cancelled' }],
  ])('reports the status and the cause of a run %s', (_title, record, order, expected) => {
    const report = endReport(record, order);
    expect(report).toMatchObject(expected);
    expect(StatusReport.safeParse(report).success).toBe(true);
  });
});
