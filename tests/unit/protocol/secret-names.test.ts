import { describe, expect, test } from 'vitest';
import { isSecretName } from '../../../protocol/secret-names.ts';

describe('isSecretName', () => {
  it.each([
    'hub_token',
    '--hub_token',
    'token',
    'tracker_api_key',
    'apiKey',
    'awsSecretKey',
    'aws_secret_access_key',
  ])('treats the key %s as secret', name => expect(isSecretName(name)).toBe(true));
  it.each(['tokenizer_max_length', 'max_tokenizer', 'keyframes', 'secretary', 'lr', 'api', 'key'])(
    'does not treat the key %s as secret',
    name => expect(isSecretName(name)).toBe(false),
  );

  it('masks the values of secret keys at any depth and nothing else', () => {
    const config = {
      lr: 1,
      hub_token: 'hf_x',
      empty_token: '',
      token: { a: 'x' },
      data: [{ api_key: 'y', path: '/x' }],
    };
    expect(conceal(config)).toEqual({
      count: 2,
      value: {
        lr: 1,
        hub_token: hidden,
        empty_token: '',
        token: { a: 'x' },
        data: [{ api_key: hidden, path: '/x' }],
      },
    });
    expect(conceal([1, null])).toEqual({ count: 0, value: [1, null] });
  });
});
