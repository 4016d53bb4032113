import { describe, expect, it } from 'vitest';
import { redact } from '../../../../agent/logs/redact.ts';

const hex = (length: number): string => '3f9ac07be1d2458690ab'.repeat(10).slice(0, length);
const mixed = (length: number): string => 'aB3dEf7hIjK1mNoPqR5tUvWx'.repeat(10).slice(0, length);

describe('redact', () => {
  it.each([
    ['a Hugging Face token', `login hf_${mixed(34)} ok`, 'login [redacted] ok'],
    ['a GitHub token', `ghp_${mixed(36)}`, '[redacted]'],
    ['a fine-grained GitHub token', `x github_pat_11${mixed(40)}_${mixed(20)}.`, 'x [redacted].'],
    ['a Slack token', `xoxb-123456789012-${mixed(24)}`, '[redacted]'],
    [
      'a Slack webhook',
      `https://hooks.slack.com/services/T0/B0/${mixed(24)}`,
      'https://hooks.slack.com/services/[redacted]',
    ],
    ['an AWS key id', 'key AKIAIOSFODNN7EXAMPLE,', 'key [redacted],'],
    [
      'an AWS secret next to its name',
      'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      'aws_secret_access_key = [redacted]',
    ],
    ['an OpenAI key', `use sk-proj-${mixed(48)}`, 'use [redacted]'],
    ['an older OpenAI key', `"sk-${mixed(48)}"`, '"[redacted]"'],
    [
      'a W&B key next to its name',
      `wandb: Currently logged in, api key ${hex(40)}`,
      'wandb: Currently logged in, api key [redacted]',
    ],
    ['a W&B key in a login command', `wandb login ${hex(40)}`, 'wandb login [redacted]'],
    ['a variable', 'export WANDB_API_KEY=abc', 'export WANDB_API_KEY=[redacted]'],
    ['a quoted variable', 'PASSWORD="correct horse" next', 'PASSWORD="[redacted]" next'],
    ['an open quote', `SECRET='correct horse`, `SECRET='[redacted]`],
    ['an unquoted variable with punctuation', 'DB_PASSWORD=a,b;c]d x', 'DB_PASSWORD=[redacted] x'],
    ['a JSON field', '{"api_key": "letmein", "lr": 1}', '{"api_key": "[redacted]", "lr": 1}'],
    ['an option', '--hub_token abcdefgh12345678 --lr 1', '--hub_token [redacted] --lr 1'],
    ['a long word labelled as a token', `hub_token: ${mixed(20)}`, 'hub_token: [redacted]'],
    ['a header', 'Authorization: Bearer abc.def', 'Authorization: Bearer [redacted]'],
    [
      'a header as Python prints it',
      `{'authorization': 'Basic dXNlcjpwYXNz'}`,
      `{'authorization': 'Basic [redacted]'}`,
    ],
    ['a bearer token alone', `bearer ${mixed(20)}`, 'bearer [redacted]'],
    ['the upload header', 'X-Upload-Token: 12345678', 'X-Upload-Token: [redacted]'],
    ['a password in a URL', 'git clone https://me:pa@ss@host/x', 'git clone https://me:[redacted]@host/x'],
    ['a token in a URL', `https://${mixed(20)}@github.com/x`, 'https://[redacted]@github.com/x'],
    ['a signed link', 'GET /a?x=1&sig=abcdefgh%2F12&y=2', 'GET /a?x=1&sig=[redacted]&y=2'],
    ['a JSON Web Token', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${mixed(43)}`, '[redacted]'],
    [
      'worker, admin and join tokens',
      `wt_${mixed(43)} ta_${mixed(43)} tj_${mixed(43)}`,
      '[redacted] [redacted] [redacted]',
    ],
    ['an upload token', `tu_j_1a2b.a_3c4d.${mixed(43)}`, '[redacted]'],
    [
      'a private key in one line',
      String.raw`key="-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----" end`,
      'key="[redacted]" end',
    ],
  ])('redacts %s', (_title, text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(expected)).toBe(expected);
  });

  it('redacts a private key over many lines, also with line prefixes', () => {
    for (const [firstPrefix, otherPrefix] of [
      ['', ''],
      ['[rank0]: ', '[rank0]: '],
      ['the key: ', ''],
    ] as const) {
      const key = [
        '-----BEGIN OPENSSH PRIVATE KEY-----',
        ...Array.from({ length: 30 }, () => mixed(64)),
        'ab==',
        '-----END OPENSSH PRIVATE KEY-----',
      ];
      const printedKey = firstPrefix + key.join(`\n${otherPrefix}`);
      expect(redact(`before\n${printedKey}\nafter\n`)).toBe(`before\n${firstPrefix}[redacted]\nafter\n`);
    }
  });

  it('redacts known secrets anywhere in the text', () => {
    expect(redact('x=päss-wörd!y', ['päss-wörd!'])).toBe('x=[redacted]y');
    expect(redact('a short one', ['short'])).toBe('a short one');
  });

  it('redacts neighboring secrets, and keeps the text between', () => {
    expect(redact(`ü hf_${mixed(20)} ü AKIAIOSFODNN7EXAMPLE ü`)).toBe('ü [redacted] ü [redacted] ü');
  });
});

it.each([
  ['commit hashes', `wandb: syncing, commit ${hex(40)}`],
  ['checksums', `sha256:${hex(64)}  model.safetensors`],
  ['a base64 picture', `data:image/png;base64,iVBORw0KGgo${mixed(200)}+/==`],
  ['paths', '/home/me/keys/token/model-00001-of-00002.safetensors'],
  [
    'names with similar prefixes',
    'hf_transfer hf_hub_download ghp_x sk-learn sk-my-long-experiment-name-two wt_loss eyJ',
  ],
  [
    'options about tokens',
    'max_token=77 MAX_TOKEN=512, tokens=4096 token: <|endoftext|> num_tokens: 1234567890123456',
  ],
  [
    'special tokens of a tokenizer',
    `{"eos_token": "</s>", "pad_token": "[PAD]", "instance_token": "photo of a dog"}`,
  ],
  ['placeholders for secrets', 'HF_TOKEN=None SECRET=*** API_KEY=${KEY}'],
  ['URLs', 'http://127.0.0.1:8001/api?x=1 https://user@host:80/x ssh://git@github.com/a:b'],
  ['prose about tokens', 'The bearer of this token is authorized. Password: not needed'],
  ['bars', 'Steps:  45%|████▌     | 450/1000 [01:23<01:41,  5.42it/s, loss=0.0123, lr=1e-4]'],
])('does not redact %s', (_title, text) => {
  expect(redact(text)).toBe(text);
});

it('keeps the text after a line that only mentions a private key', () => {
  const text = 'Put it below -----BEGIN PRIVATE KEY----- and then ';
  expect(redact(`${text}\nordinary text, and more`)).toContain('ordinary text, and more');
});

it('redacts only the first line of a private key when no key follows', () => {
  expect(redact('-----BEGIN PRIVATE KEY-----\nwhat is this, it is text\nx')).toBe(
    '[redacted]\nwhat is this, it is text\nx',
  );
});

describe('run time of redact', () => {
  const bytes = 2 * 1024 * 1024;
  it.each([
    'x',
    'hf_',
    'sk-',
    'eyJa',
    'eyJaaaaaaaa.',
    'wandb',
    'wandbkey',
    '://',
    '://a:',
    'a://a:a',
    'tu_',
    'tu_a.',
    'TOKEN=',
    'TOKEN="',
    'password=',
    '--',
    '--a-token ',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN A ',
    'authorization:',
    'x-',
    'Bearer ',
    'AKIA',
    '?sig=',
    'token":"',
    'secret_key=',
    ' ',
    '\n',
    '"',
    'A',
    '0',
  ])(
    'redacts 2 MB of %j in linear time',
    word => {
      const text = word.repeat(Math.ceil(bytes / word.length));
      const startedAt = performance.now();
      redact(text);
      // Quadratic work on 2 MB would take much longer.
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    },
    30_000,
  );
});
