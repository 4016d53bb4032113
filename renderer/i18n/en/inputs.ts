/** Texts about files that a job takes from other jobs. */
export const inputs = {
  'inputs.title': 'Files of other jobs',
  'inputs.result': 'Final model',
  'inputs.best': 'Best checkpoint',
  'inputs.newest': 'Newest checkpoint',
  'inputs.stateNewest': 'Newest state to continue from',
  'inputs.stateBest': 'Best state to continue from',
  'inputs.step': 'Checkpoint of step {step}',
  'inputs.path': 'Another file or folder',
  'inputs.pending': 'chosen when this job starts',
  'inputs.missing': 'That job has no such file.',
  'inputs.gone': 'deleted job',
  'inputs.count': '{count, plural, one {# file} other {# files}}, {size}',
  'inputs.add': 'Take a file of {name}',
  'inputs.file': 'File of {name}',
  'inputs.where': 'File, folder or checkpoint',
  'inputs.whereHint': 'Such as samples/cat.png or checkpoint 500',
  'inputs.name': 'Input name',
  'inputs.remove': 'Do not take {input}',
  'inputs.hint': 'In the configuration, {placeholder} is the path of the file.',
} as const;

export type InputsKey = keyof typeof inputs;
