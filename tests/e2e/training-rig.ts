import { expect } from '@playwright/test';
import { WorkerId } from '../../protocol/ids.ts';
import { type Offered, openRig, type Rig } from '../support/upload-bench.ts';
import type { Orchestrator } from './panel.ts';

/** A worker without a trainer. It sends the reports and files that a test chooses. */
export interface TrainingRig extends Pick<Rig, 'token'> {
  /** Submits a job and reports that it runs. */
  start(name: string): Promise<Offered>;
  /** Takes the next offer and reports that it runs. */
  takeOffer(): Promise<Offered>;
  report(of: Offered, status: string, more?: object): Promise<void>;
}

export async function openTrainingRig(orchestrator: Orchestrator, name: string): Promise<TrainingRig> {
  const createWorker = async (worker: { readonly name?: string } = {}) => {
    const made = await orchestrator.call('POST', '/api/admin/workers', worker);
    return { id: WorkerId.parse(made['worker_id']), token: String(made['token']) };
  };
  const rig = await openRig({ url: orchestrator.url, createWorker }, name);
  const report = async (of: Offered, status: string, more: object = {}): Promise<void> => {
    expect((await rig.report(of, status, more)).ok, status).toBe(true);
  };
  const takeOffer = async (): Promise<Offered> => {
    const offered = await rig.offered();
    for (const status of ['starting', 'running']) await report(offered, status);
    return offered;
  };
  return {
    token: rig.token,
    report,
    takeOffer,
    async start(config_name) {
      await orchestrator.submit({ config_name, config: {} });
      return takeOffer();
    },
  };
}
