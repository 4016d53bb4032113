import { listOf, pathsAt, type Reference, type Trainer } from './trainer.ts';

const fileKeys = ['concept_file_name', 'sample_definition_file_name'];
const modelKeys = ['base_model_name', 'lora_model_name'];

/** Returns the data folders of the concepts. `key` is null for a concepts file, which is a plain list. */
const conceptsIn = (concepts: unknown, key: string | null): readonly Reference[] =>
  listOf(concepts).flatMap((concept, index) => {
    const at = key === null ? [index] : [key, index];
    return pathsAt(concept, ['path'], 'data', at);
  });

export const onetrainer: Trainer = {
  name: 'onetrainer',
  title: 'OneTrainer',
  // SimpleTuner also has model_type, but not training_method.
  recognises: config =>
    typeof config['training_method'] === 'string' && typeof config['model_type'] === 'string',
  defaultGpus: 1,
  replacedKeys: ['output_dir', 'logging_dir'],
  samplesAreFiles: true,
  references(config) {
    const files = pathsAt(config, fileKeys, 'file').filter(
      ({ at: [key] }) => !Array.isArray(config[key === fileKeys[0] ? 'concepts' : 'samples']),
    );
    return [
      ...files.map(file => (file.at[0] === fileKeys[1] ? { ...file, isOptional: true as const } : file)),
      ...conceptsIn(config['concepts'], 'concepts'),
      ...pathsAt(config, modelKeys, 'model'),
    ];
  },
  referencesIn: (document, [key]) => (key === fileKeys[0] ? conceptsIn(document, null) : []),
  // Put the content of each file into the config, because a config can contain these lists directly.
  roleOf: ([key]) => ({ key: key === fileKeys[0] ? 'concepts' : 'samples' }),
  // OneTrainer can resume only from a backup, because a save contains only the weights.
  canResumeFrom: ({ name, isFile }) => !isFile && /-backup-\d+-\d+-\d+$/.test(name),
  keys: { of: config => Object.keys(config).map(key => [key]), unknown: 'ignored' },
  requests: ['save', 'sample'],
  problem: config =>
    config['concepts'] === undefined && config['concept_file_name'] === undefined
      ? 'it has no concepts: this is a preset, not a complete config'
      : null,
};
