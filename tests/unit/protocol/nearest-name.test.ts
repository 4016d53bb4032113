import { expect, test } from 'vitest';
import { nearestName } from '../../../protocol/nearest-name.ts';

const names = ['learning_rate', 'lr_scheduler', 'max_train_steps', 'max_train_epochs', 'seed'];

test.each([
  ['a typo', 'lerning_rate', 'learning_rate'],
  ['other capital letters', 'Max_Train_Steps', 'max_train_steps'],
  ['dashes', 'max-train-epochs', 'max_train_epochs'],
  ['only a prefix of one name', 'lr_', 'lr_scheduler'],
  ['a prefix of several names', 'max_train', 'max_train_steps'],
  ['one wrong letter in a short name', 'sead', 'seed'],
])('returns the nearest name for %s', (_title, word, name) => {
  expect(nearestName(word, names)).toBe(name);
});

test('returns null for a word that resembles no name', () => {
  expect(nearestName('caption', names)).toBeNull();
  expect(nearestName('x', [])).toBeNull();
});

test('compares only the start of a very long word', () => {
  expect(nearestName('y'.repeat(1_000_000), names)).toBeNull();
  expect(nearestName(`${'a'.repeat(60)}${'y'.repeat(1_000_000)}`, ['a'.repeat(60)])).toBe('a'.repeat(60));
});
