import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { restrictedKeyFor, restrictedKeys, restrictedUses } from '../../../protocol/config-policy.ts';

const keysIn = (config: unknown, dataloader: unknown = null): readonly string[] =>
  restrictedUses(config, dataloader).map(({ key }) => key);

describe('a config without restricted keys', () => {
  // The first cases are from SimpleTuner's examples flux.peft-lora and anima-anyflow-stage2.peft-lora.
  it.each<[string, object, unknown]>([
    [
      'a LoRA training into a relative folder',
      {
        '--output_dir': 'output/examples/flux2.peft-lora+TREAD',
        '--hub_model_id': 'simpletuner-example-flux2-peft-lora',
        '--push_to_hub': false,
        '--push_checkpoints_to_hub': false,
        '--data_backend_config': 'config/examples/multidatabackend-small-dreambooth-512px.json',
        '--report_to': 'none',
        '--delete_problematic_images': true,
        '--tread_config': { routes: [{ selection_ratio: 0.1, start_layer_idx: 2, end_layer_idx: -2 }] },
      },
      null,
    ],
    [
      'a training that starts from the weights of another run',
      {
        init_lora: 'output/examples/anima-anyflow-stage1.peft-lora/pytorch_lora_weights.safetensors',
        output_dir: 'output/examples/anima-anyflow-stage2.peft-lora',
        lycoris_config: 'config/lycoris_config.json',
      },
      [
        {
          id: 'dreambooth-512',
          type: 'huggingface',
          cache_dir_vae: 'cache/vae/{model_family}/dreambooth-512',
        },
        {
          id: 'alt-embed-cache',
          type: 'local',
          dataset_type: 'text_embeds',
          cache_dir: 'cache/text/{model_family}',
        },
      ],
    ],
    [
      'models, datasets and caches on the rig',
      { pretrained_model_name_or_path: '/models/flux', cache_dir: '/models/hub', push_to_hub: true },
      [{ id: 'own', type: 'local', instance_data_dir: '/data/images', cache_dir_vae: '/cache/vae' }],
    ],
    [
      'restricted features switched off',
      { trust_remote_code: 'false', delete_nsfw_images: 0, webhook_config: '' },
      null,
    ],
    ['this machine as the main process', { main_process_ip: '127.0.0.1', disk_low_script: 'None' }, null],
    ['a self-test', { trainer: 'selftest', output_dir: '/tmp' }, null],
  ])('returns no restricted key for %s', (_title, config, dataloader) => {
    expect(keysIn(config, dataloader)).toEqual([]);
  });
});

describe('a restricted key', () => {
  it.each<[string, Record<string, unknown>]>([
    ['with leading dashes', { '--post_checkpoint_script': 'x' }],
    ['without dashes', { post_checkpoint_script: 'x' }],
    ['with hyphens', { '--post-checkpoint-script': 'x' }],
    ['in capitals', { POST_CHECKPOINT_SCRIPT: 'x' }],
    ['abbreviated as argparse allows it', { post_c: 'x' }],
    ['with white space around it', { ' --post_checkpoint_script ': 'x' }],
    ['with its value after =', { '--post_checkpoint_script=/bin/x': true }],
    ['as a list', { post_checkpoint_script: ['', 'x'] }],
    ['as an object', { post_checkpoint_script: { a: 1 } }],
    ['below another key', { training: { hooks: [{ post_checkpoint_script: 'x' }] } }],
    ['in a JSON string', { training: '{"post_checkpoint_script": "x"}' }],
  ])('finds a restricted key %s', (_title, config) => {
    expect(keysIn(config)).toEqual(['post_checkpoint_script']);
  });

  it.each<[string, unknown]>([
    ['post_upload_script', 'x'],
    ['validation_external_script', 'x'],
    ['disk_low_script', 'x'],
    ['accelerate_extra_args', '--module evil'],
    ['accelerate_config', '/tmp/a.yaml'],
    ['deepspeed_config', { zero_optimization: { offload_param: { nvme_path: '/x' } } }],
    ['trust_remote_code', true],
    ['trust_remote_code', 'yes'],
    ['main_process_ip', '10.0.0.1'],
    ['webhook_config', [{ webhook_url: 'http://10.0.0.1' }]],
    ['publishing_config', '[{"provider": "s3"}]'],
    ['logging_dir', '/var/log'],
    ['logging_dir', '../../logs'],
    ['offload_param_path', '~/x'],
    ['group_offload_to_disk_path', '\\\\host\\share'],
    ['memory_filesystem_path', ['/mnt']],
    ['memory_filesystem_sudo', 1],
    ['delete_unwanted_images', true],
    ['delete_nsfw_images', 'true'],
    ['delete_model_after_load', true],
  ])('finds the restricted key %s with the value %j', (key, value) => {
    expect(keysIn({ [key]: value })).toEqual([key]);
    expect(keysIn({}, [{ id: 'data', nested: { [key]: value } }])).toEqual([key]);
  });

  it('reports the key env when a value refers to an environment variable', () => {
    expect(keysIn({ tracker_run_name: 'run {env:AWS_SECRET_ACCESS_KEY}' })).toEqual(['env']);
    expect(keysIn({}, [{ id: '{env:HOME}' }])).toEqual(['env']);
  });

  it('reports each restricted key once, in order', () => {
    const config = { webhook_config: 'a', '--webhook_config': 'b', output_dir: '/x', env: '{env:X}' };
    expect(keysIn(config, { output_dir: '..' })).toEqual(['env', 'output_dir', 'webhook_config']);
  });

  it('accepts abbreviations of a restricted key only at the top level', () => {
    expect(restrictedKeyFor('output_d', true)).toBe('output_dir');
    expect(restrictedKeyFor('output_d', false)).toBeNull();
    expect(restrictedKeyFor('o', true)).toBeNull();
    expect(restrictedKeyFor('', true)).toBeNull();
  });
});

describe('search for restricted keys', () => {
  it('never throws for any config, and reports only known keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (config, dataloader) => {
        for (const key of keysIn(config, dataloader)) expect(restrictedKeys).toContain(key);
      }),
    );
  });

  it('finds a restricted key in a deeply nested config, and accepts strings that are not JSON', () => {
    let deep: unknown = { post_upload_script: 'x' };
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(keysIn({ layers: deep, text: '{ not json', other: undefined })).toEqual(['post_upload_script']);
  });
});

describe('value of a restricted key', () => {
  it('reports no restricted key whose value is null, false or empty', () => {
    expect(keysIn({ post_upload_script: null, post_checkpoint_script: false, webhook_config: '' })).toEqual(
      [],
    );
  });

  it('checks the config of every trainer except self-test and sample training', () => {
    const config = { webhook_config: 'x', disk_low_script: 'y', accelerate_config: 'z' };
    expect(keysIn({ ...config, trainer: 'selftest' })).toEqual([]);
    expect(keysIn({ ...config, trainer: 'digits' })).toEqual([]);
    expect(keysIn({ ...config, trainer: 'other' })).toEqual(Object.keys(config).toSorted());
    // The order of the keys in the config has no effect.
    const reversed = Object.fromEntries(Object.entries(config).toReversed());
    expect(keysIn(reversed)).toEqual(Object.keys(config).toSorted());
  });
});
