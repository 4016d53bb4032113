/**
 * A sample job for workers that contain the example `digits`. A small network learns to recognise handwritten digits, in
 * five to ten seconds on a CPU. `trainer` selects this example; the value `selftest` would select the self-test.
 */
export const sampleTraining = {
  config_name: 'digits-quick',
  config: {
    trainer: 'digits',
    description:
      'Handwritten digits, small network: above 97 % of the test images right in five to ten seconds.',
    epochs: 3,
    batch_size: 64,
    learning_rate: 0.1,
    final_learning_rate: 0.001,
    momentum: 0.9,
    hidden: 64,
    seed: 7,
    checkpoint_every: 500,
    keep_checkpoints: 3,
    $requests: { save: { signal: 'SIGUSR1' }, sample: { file: 'sample.now' } },
  },
} as const;
