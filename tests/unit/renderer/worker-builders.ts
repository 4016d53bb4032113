import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { WorkerView } from '../../../protocol/worker.ts';

/** Returns an idle worker with two GPUs whose last contact was two seconds ago. */
export function workerView(overrides: Partial<WorkerView> = {}): WorkerView {
  const id = overrides.id ?? WorkerId.parse('w_one');
  const gpu = { name: 'NVIDIA GeForce RTX 4090', vram_gb: 24 };
  return WorkerView.parse({
    id,
    worker_id: id,
    name: 'rig-1',
    status: 'idle',
    status_reason: null,
    worker_type: 'persistent',
    gpu_count: 2,
    gpu_name: gpu.name,
    gpu_vram_gb: gpu.vram_gb,
    accelerator_type: 'cuda',
    gpu_info: {
      ...gpu,
      count: 2,
      driver: null,
      accelerator: 'cuda',
      gpus: [
        { index: 0, ...gpu },
        { index: 1, ...gpu },
      ],
    },
    labels: {},
    admin_labels: {},
    local: false,
    current_job_id: null,
    last_heartbeat: '2026-03-01T12:00:00.000Z',
    last_contact_age_s: 2,
    gpu_utilization: 10,
    vram_used_gb: 1,
    created_at: '2026-03-01T11:00:00.000Z',
    registered_at: '2026-03-01T11:00:01.000Z',
    host: 'rig-1.lan',
    persistent: true,
    agent_version: '0.1.0',
    trainers: null,
    protocol: 2,
    drain: null,
    quarantine: null,
    gpu_troubles: [],
    duplicate: null,
    ...overrides,
  });
}

export const workerId = (text: string): WorkerId => WorkerId.parse(text);
export const jobId = (text: string): JobId => JobId.parse(text);
