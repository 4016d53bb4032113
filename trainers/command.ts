import type { Trainer } from './trainer.ts';

/** Any program that a rig's owner has configured. It gets the config as it is, and Trainyard knows nothing about it. */
export const command: Trainer = {
  name: 'command',
  title: 'a program of your own',
  recognises: () => true,
  defaultGpus: 0,
  replacedKeys: [],
  references: () => [],
  referencesIn: () => [],
  continuesFrom: () => true,
  problem: () => null,
};
