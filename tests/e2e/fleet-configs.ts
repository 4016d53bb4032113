/**
 * Configs of the jobs in the documentation's screenshots. Keys and values are those of SimpleTuner's own examples
 * (simpletuner/examples/*.peft-lora/config.json).
 */
export type Config = Readonly<Record<string, unknown>>;

const common = {
  data_backend_config: 'config/multidatabackend.json',
  gradient_checkpointing: true,
  lr_scheduler: 'constant',
  mixed_precision: 'bf16',
  optimizer: 'adamw_bf16',
  output_dir: 'output/models',
  resume_from_checkpoint: 'latest',
  seed: 42,
  train_batch_size: 1,
} as const;

const lora = {
  ...common,
  model_type: 'lora',
  lora_type: 'standard',
  lora_rank: 16,
  learning_rate: 1e-4,
  base_model_precision: 'int8-quanto',
} as const;

const families: Readonly<Record<string, Config>> = {
  flux: { ...lora, model_family: 'flux', flow_schedule_shift: 3, validation_guidance: 4 },
  hunyuan: { ...common, model_type: 'full', model_family: 'hunyuanvideo', learning_rate: 1e-6 },
  kolors: { ...lora, model_family: 'kolors', learning_rate: 1e-5, validation_guidance: 5 },
  ltxvideo: { ...lora, model_family: 'ltxvideo', framerate: 25, validation_num_video_frames: 125 },
  qwen: { ...lora, model_family: 'qwen_image', model_flavour: 'edit-v1', lora_rank: 32 },
  sd15: { ...lora, model_family: 'sd1x', base_model_precision: 'no_change', lora_rank: 8 },
  sd35: { ...lora, model_family: 'sd3', model_flavour: 'large' },
  sdxl: { ...lora, model_family: 'sdxl', validation_guidance: 7.5 },
};

/** Creates the config of a job, from its name such as `flux-lora-product`. */
export function createConfig(name: string, steps: number, changes: Config): Config {
  const [family = '', kind] = name.split('-');
  const full = { ...common, model_type: 'full', model_family: family, learning_rate: 1e-6 };
  return {
    ...(kind === 'full' ? full : families[family]),
    max_train_steps: steps,
    checkpoint_step_interval: 500,
    validation_steps: Math.round(steps / 4),
    validation_resolution: '1024x1024',
    ...changes,
  };
}
