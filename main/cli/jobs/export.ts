import { Option } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { textOf } from '../flags.ts';
import { findTrackingServer } from '../mlflow/address.ts';
import { createMlflow } from '../mlflow/client.ts';
import { exportRun, type ExportResult } from '../mlflow/export.ts';
import { readCurves, readParams } from '../mlflow/job-data.ts';
import { limits } from '../mlflow/limits.ts';
import { toMetrics } from '../mlflow/metrics.ts';
import { printOne } from '../output.ts';
import { bar, createDisplay } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, findNewestJob, withJobArgument } from './find.ts';

const defaultExperiment = 'trainyard';

export const exportJob: RemoteSpec = {
  name: 'export',
  description: 'Write a job to an experiment tracker: config, curves, status and times. Repeat it to update',
  examples: [
    'trainyard jobs export flowers --to mlflow --tracking-uri https://mlflow.example.com',
    'MLFLOW_TRACKING_TOKEN=... trainyard jobs export flowers --to mlflow --experiment loras',
  ],
  shape: command =>
    withJobArgument(command, among.all)
      .addOption(new Option('--to <tracker>', 'kind of tracker').choices(['mlflow']).makeOptionMandatory())
      .option('--tracking-uri <url>', 'address of the tracking server (default: MLFLOW_TRACKING_URI)')
      .option(
        '--experiment <name>',
        `experiment, created if missing (default: MLFLOW_EXPERIMENT_NAME, or ${defaultExperiment})`,
      ),
  async act(remote, [word]) {
    const { flags, env, terminal } = remote;
    const server = findTrackingServer(textOf(flags, 'tracking-uri'), env, terminal.err);
    const givenName = (textOf(flags, 'experiment') ?? env['MLFLOW_EXPERIMENT_NAME'] ?? '').trim();
    const experiment = givenName === '' ? defaultExperiment : givenName;
    if (experiment.length > limits.experimentName)
      fail(exitCodes.usage, `--experiment can have at most ${limits.experimentName} characters`);
    const { id } = await findNewestJob(remote, word);
    const job = await remote.request(queueApi.get, { params: { id } });
    if (job.attempts.length === 0)
      fail(exitCodes.conflict, `Job ${id} has not started, so it has nothing to export`);
    const display = createDisplay(terminal.err, terminal.errScreen, lineOf);
    const show = (what: string) => (share: number) => display.show({ percent: 100 * share, what });
    try {
      const params = await readParams(remote, id);
      const curves = await readCurves(remote, id, show('reading curves'));
      const metrics = toMetrics(job, curves);
      const exported = { job, server: remote.connection().url, params: params ?? [], metrics };
      const result = await exportRun(createMlflow(server), exported, experiment, show('sending values'));
      display.finish();
      print(
        remote,
        job.id,
        `${server.url}/#/experiments/${result.experimentId}/runs/${result.runId}`,
        result,
      );
      if (params === null)
        terminal.err(
          'The config was not exported: your token needs the permission queue.manage for this job\n',
        );
    } finally {
      display.finish();
    }
  },
};

function print(
  remote: Parameters<RemoteSpec['act']>[0],
  jobId: string,
  url: string,
  result: ExportResult,
): void {
  const { experimentId, runId, isNew, params, values } = result;
  const answer = {
    job_id: jobId,
    experiment_id: experimentId,
    run_id: runId,
    url,
    created: isNew,
    new_params: params,
    new_values: values,
  };
  printOne(remote, {
    answer,
    facts: [
      ['Run', url],
      ['Result', isNew ? 'created' : 'updated'],
      ['New params', String(params)],
      ['New values', String(values)],
    ],
  });
}

interface Shown {
  readonly percent: number;
  readonly what: string;
}

const lineOf = ({ percent, what }: Shown): string => `${bar(percent)}  ${what}`;
