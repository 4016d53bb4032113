export const simpletuner = {
  data_backend_config: 'config/multidatabackend.json',
  lycoris_config: 'config/lycoris_config.json',
  model_family: 'flux',
  model_type: 'lora',
  max_train_steps: 100,
  output_dir: 'output/models',
  resume_from_checkpoint: 'latest',
};

export const aiToolkit = {
  job: 'extension',
  config: {
    name: 'my_first_flux_lora_v1',
    process: [
      {
        type: 'sd_trainer',
        training_folder: 'output',
        device: 'cuda:0',
        save: { dtype: 'float16', save_every: 250 },
        datasets: [{ folder_path: '/data/dog', caption_ext: 'txt', control_path: ['/data/dog-control'] }],
        train: { steps: 2_000, lr: 0.0001 },
        model: { name_or_path: 'black-forest-labs/FLUX.1-dev', is_flux: true },
      },
    ],
  },
  meta: { name: '[name]', version: '1.0' },
};

export const kohya = {
  script: 'sdxl_train_network.py',
  pretrained_model_name_or_path: 'stabilityai/stable-diffusion-xl-base-1.0',
  dataset_config: 'dataset.toml',
  output_dir: '/home/ada/out',
  output_name: 'dog',
  network_module: 'networks.lora',
  network_dim: 16,
  max_train_steps: 500,
  save_every_n_steps: 100,
};

// The keys of the text encoders and the autoencoder identify the Flux script, so this config names no script.
export const kohyaSections = {
  model: { pretrained_model_name_or_path: 'flux1-dev.safetensors', clip_l: 'l', t5xxl: 't', ae: 'a' },
  data: { train_data_dir: '/data/dog', reg_data_dir: '/data/reg' },
  network: { network_module: 'networks.lora_flux' },
};

export const onetrainer = {
  __version: 10,
  training_method: 'LORA',
  model_type: 'FLUX_DEV_1',
  base_model_name: 'black-forest-labs/FLUX.1-dev',
  workspace_dir: 'workspace/run',
  output_model_destination: 'models/lora.safetensors',
  concept_file_name: 'concepts.json',
  epochs: 10,
};

export const diffusers = {
  script: 'dreambooth/train_dreambooth_lora_flux.py',
  pretrained_model_name_or_path: 'black-forest-labs/FLUX.1-dev',
  instance_data_dir: './dog',
  instance_prompt: 'a photo of sks dog',
  mixed_precision: 'bf16',
  train_text_encoder: true,
  push_to_hub: false,
  max_train_steps: 500,
};
