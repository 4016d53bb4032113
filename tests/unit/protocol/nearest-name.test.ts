import { expect, test } from 'vitest';
import { nearestName } from '../../../protocol/nearest-name.ts';

const names = ['learning_rate', 'lr_scheduler', 'max_train_steps', 'max_train_epochs', 'seed'];

test.each([
  ['letters in the wrong order', 'lerning_rate', 'learning_rate'],
  ['other case', 'Max_Train_Steps', 'max_train_steps'],
  ['dashes', 'max-train-epochs', 'max_train_epochs'],
  ['only the beginning', 'lr_', 'lr_scheduler'],
  ['the beginning of several', 'max_train', 'max_train_steps'],
  ['one letter of a short name', 'sead', 'seed'],
])('a word with %s gets the name that it resembles', (_what, word, name) => {
  expect(nearestName(word, names)).toBe(name);
});

test('a word that resembles no name gets none', () => {
  expect(nearestName('caption', names)).toBeNull();
  expect(nearestName('x', [])).toBeNull();
});

test('a word of a megabyte is compared by how it begins', () => {
  expect(nearestName('y'.repeat(1_000_000), names)).toBeNull();
  expect(nearestName(`${'a'.repeat(60)}${'y'.repeat(1_000_000)}`, ['a'.repeat(60)])).toBe('a'.repeat(60));
});
