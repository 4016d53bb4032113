import { homedir, hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadValidConfig, minimalFlags, configError, tempFolder, writeFile } from '../builders.ts';

const withFlag = (name: string, value: unknown) => ({ ...minimalFlags, [name]: value });

describe('orchestrator address', () => {
  it.each([
    ['http://rig:8001', 'http://rig:8001'],
    ['https://rig', 'https://rig'],
    ['  http://rig:8001  ', 'http://rig:8001'],
    ['http://rig:8001/', 'http://rig:8001'],
    ['http://rig:8001///', 'http://rig:8001'],
    ['https://rig/trainyard', 'https://rig/trainyard'],
    ['https://rig/trainyard/', 'https://rig/trainyard'],
    ['HTTP://Rig:8001', 'http://rig:8001'],
    ['http://[::1]:8001', 'http://[::1]:8001'],
  ])('normalizes the address %j to %j', (given, expected) => {
    expect(loadValidConfig(withFlag('orchestrator-url', given)).orchestratorUrl).toBe(expected);
  });

  it.each([
    'rig',
    'rig:8001',
    '192.168.1.7:8001',
    'ftp://rig',
    'file:///etc/passwd',
    'http://',
    '//rig:8001',
  ])('rejects the address %j with an example', given => {
    const message = configError(withFlag('orchestrator-url', given));
    expect(message).toContain(`"${given}" is not an http or https URL`);
    expect(message).toContain('--orchestrator-url http://HOST:8001');
  });

  it.each(['http://user:canary@rig', 'http://canary@rig:8001', 'https://:canary@rig'])(
    'rejects the address %j without showing its credentials',
    given => {
      const message = configError(withFlag('orchestrator-url', given));
      expect(message).toContain('contains a user name or password');
      expect(message).not.toContain('canary');
    },
  );

  it.each([[{}], [{ 'orchestrator-url': '' }], [{ 'orchestrator-url': '   ' }]])(
    'names the option and the variable when the address is missing (%j)',
    flags => {
      expect(configError({ 'worker-token': 'wt_1', ...flags })).toMatch(
        /--orchestrator-url .*SIMPLETUNER_ORCHESTRATOR_URL/,
      );
    },
  );
});

describe('SIMPLETUNER_WORKER_PERSISTENT', () => {
  it.each([
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['yes', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['', false],
    ['junk', false],
    ['truest', false],
  ])('reads SIMPLETUNER_WORKER_PERSISTENT=%j as %j', (value, expected) => {
    expect(loadValidConfig(minimalFlags, { SIMPLETUNER_WORKER_PERSISTENT: value }).persistent).toBe(expected);
  });
});

describe('labels', () => {
  it.each<[unknown, object]>([
    [['team=nlp', 'gpu_type=a100'], { team: 'nlp', gpu_type: 'a100' }],
    [['a=b=c'], { a: 'b=c' }],
    [['a='], { a: '' }],
    [['a=1', 'a=2'], { a: '2' }],
    ['team=nlp', { team: 'nlp' }],
    [{ team: 'nlp' }, { team: 'nlp' }],
    [undefined, {}],
    [null, {}],
  ])('reads the labels %j as %j', (given, expected) => {
    expect(loadValidConfig(withFlag('label', given)).labels).toEqual(expected);
  });

  it.each<[unknown, string]>([
    [['team'], '"team"'],
    [['=nlp'], '""'],
    [['ok=1', 'rack'], '"rack"'],
    ['rack', '"rack"'],
    [{ rack: 4 }, '"rack"'],
    [{ rack: null }, '"rack"'],
  ])('rejects the labels %j', (labels, quoted) => {
    expect(configError(withFlag('label', labels))).toBe(`${quoted} is not a label. Use --label key=value`);
  });
});

describe('--gpus', () => {
  it.each([
    ['0', [0]],
    ['0,1', [0, 1]],
    [' 3 , 1 ', [3, 1]],
    ['1,1,0', [1, 0]],
    [null, null],
  ])('reads --gpus %j as %j', (given, expected) => {
    expect(loadValidConfig(withFlag('gpus', given)).gpus).toEqual(expected);
  });

  it.each(['', ',', '0,', 'all', '-1', '0.5', '0x1', '12345', 0, [0], true])('rejects --gpus %j', given => {
    expect(configError(withFlag('gpus', given))).toContain(
      'is not a list of GPU numbers. Use numbers separated by commas, such as "0,1"',
    );
  });
});

describe('--allow-config-scripts', () => {
  it.each<[unknown, readonly string[]]>([
    [undefined, []],
    ['output_dir', ['output_dir']],
    ['--post-checkpoint-script, output_dir,', ['output_dir', 'post_checkpoint_script']],
    [
      ['env', 'output_dir,env'],
      ['env', 'output_dir'],
    ],
  ])('reads --allow-config-scripts %j as the keys %j', (given, expected) => {
    expect(loadValidConfig(withFlag('allow-config-scripts', given)).allowedConfigKeys).toEqual(expected);
  });

  it.each(['all', '*', 'output_dir,learning_rate', true])(
    'rejects --allow-config-scripts %j, and lists the keys',
    given => {
      expect(configError(withFlag('allow-config-scripts', given))).toMatch(
        /^--allow-config-scripts ".*" is not a restricted key. Use one of: accelerate_config, .*webhook_config/,
      );
    },
  );
});

describe('--upload', () => {
  it.each([
    [undefined, 'all'],
    ['', 'all'],
    ['all', 'all'],
    ['checkpoints', 'checkpoints'],
    ['none', 'none'],
  ])('reads --upload %j as %j', (given, expected) => {
    expect(loadValidConfig(withFlag('upload', given)).upload).toBe(expected);
  });

  it('reads --upload from the environment', () => {
    expect(loadValidConfig(minimalFlags, { SIMPLETUNER_WORKER_BRING: 'checkpoints' }).upload).toBe(
      'checkpoints',
    );
  });

  it('names the environment variable that contains an invalid --upload', () => {
    expect(configError(minimalFlags, { SIMPLETUNER_WORKER_BRING: 'some' })).toBe(
      '--upload "some" is not supported. Use one of: all, checkpoints, none (given by the environment variable SIMPLETUNER_WORKER_BRING)',
    );
  });

  it('names the key and the config file that contain an invalid --upload', () => {
    const config = writeFile(tempFolder(), 'config.json', JSON.stringify({ upload: 'some' }));
    expect(configError({ ...minimalFlags, config })).toBe(
      `--upload "some" is not supported. Use one of: all, checkpoints, none (given by "upload" in ${config})`,
    );
  });

  it.each(['ALL', 'samples', 'false'])('rejects --upload %j', given => {
    expect(configError(withFlag('upload', given))).toBe(
      `--upload "${given}" is not supported. Use one of: all, checkpoints, none`,
    );
  });

  it('accepts --bring, the older name of --upload, as a flag and in the file', () => {
    expect(loadValidConfig(withFlag('bring', 'none')).upload).toBe('none');
    const config = writeFile(tempFolder(), 'config.json', JSON.stringify({ bring: 'checkpoints' }));
    expect(loadValidConfig({ ...minimalFlags, config }).upload).toBe('checkpoints');
    expect(loadValidConfig({ ...minimalFlags, config, upload: 'none' }).upload).toBe('none');
  });
});

describe('--trainer', () => {
  it.each([
    ['simpletuner', { kind: 'package', name: 'simpletuner', python: null }],
    ['simpletuner=/opt/venv', { kind: 'package', name: 'simpletuner', python: '/opt/venv' }],
    [
      'ai-toolkit=/opt/ai-toolkit',
      { kind: 'checkout', name: 'ai-toolkit', folder: '/opt/ai-toolkit', python: null },
    ],
    ['kohya=sd-scripts', { kind: 'checkout', name: 'kohya', folder: resolve('sd-scripts'), python: null }],
    ['command=train {config_path}', { kind: 'command', argv: ['train', '{config_path}'], takesAll: false }],
    [
      'python train.py --config \'{config_path}\' -o "{output_dir}"',
      {
        kind: 'command',
        argv: ['python', 'train.py', '--config', '{config_path}', '-o', '{output_dir}'],
        takesAll: true,
      },
    ],
    ['/opt/train', { kind: 'command', argv: ['/opt/train'], takesAll: true }],
    // A relative path is resolved from the folder in which the agent was started.
    ['./train.sh x', { kind: 'command', argv: [resolve('train.sh'), 'x'], takesAll: true }],
  ])('reads --trainer %j as %j', (given, expected) => {
    expect(loadValidConfig(withFlag('trainer', given)).trainers).toEqual([expected]);
  });

  it.each([
    'train | tee log',
    'train && poweroff',
    'train > log',
    'train $(id)',
    'train `id`',
    'train "$HOME"',
  ])('rejects --trainer %j, because the worker uses no shell', given => {
    expect(configError(withFlag('trainer', given))).toMatch(/^--trainer: .* no shell is used/);
  });
});

describe('several trainers', () => {
  it('reads several trainers from repeated flags or a list in the file, and uses --python for all of them', () => {
    const config = loadValidConfig({
      ...minimalFlags,
      trainer: ['simpletuner', 'kohya=/opt/kohya'],
      python: '/opt/venv',
    });
    expect(config.trainers).toEqual([
      { kind: 'package', name: 'simpletuner', python: '/opt/venv' },
      { kind: 'checkout', name: 'kohya', folder: '/opt/kohya', python: '/opt/venv' },
    ]);
  });

  it.each([
    [['kohya=/a', 'kohya=/b'], '--trainer kohya is given twice. Use each trainer once'],
    [['train a', 'train b'], '--trainer command is given twice. Use each trainer once'],
    [['onetrainer'], '--trainer onetrainer has no folder. Use --trainer onetrainer=/path/to/onetrainer'],
    [['command='], '--trainer: The command is empty.'],
  ])('rejects the trainers %j', (trainer, message) => {
    expect(configError({ ...minimalFlags, trainer })).toBe(message);
  });
});

describe('folders', () => {
  it('keeps the state in --state-dir, with the jobs below it', () => {
    const config = loadValidConfig(withFlag('state-dir', 'some/state'), { XDG_STATE_HOME: '/elsewhere' });
    expect(config.stateDir).toBe(resolve('some/state'));
    expect(config.workDir).toBe(resolve('some/state/jobs'));
  });

  it('keeps the state below XDG_STATE_HOME', () => {
    const home = tempFolder();
    const config = loadValidConfig(withFlag('name', 'rig-3'), { XDG_STATE_HOME: home });
    expect(config.stateDir).toBe(join(home, 'trainyard/rig-3'));
    expect(config.workDir).toBe(join(home, 'trainyard/rig-3/jobs'));
  });

  it.runIf(process.platform === 'linux')('keeps the state in the home folder without XDG_STATE_HOME', () => {
    expect(loadValidConfig(withFlag('name', 'rig-3')).stateDir).toBe(
      join(homedir(), '.local/state/trainyard/rig-3'),
    );
  });

  it('resolves a relative work folder from the current folder', () => {
    expect(loadValidConfig(withFlag('work-dir', 'jobs')).workDir).toBe(resolve('jobs'));
  });

  const stateDirOf = (name: string): string =>
    loadValidConfig(withFlag('name', name), { XDG_STATE_HOME: '/state' }).stateDir;

  it.each([
    '../x',
    '../../etc',
    'a/b',
    '/etc/cron.d',
    '.',
    '..',
    '...',
    '.ssh',
    'a\\b',
    'a\0b',
    'a\nb',
    'x'.repeat(300),
  ])('turns the worker name %j into a safe folder name', name => {
    const dir = stateDirOf(name);
    expect(dirname(dir)).toBe('/state/trainyard');
    expect(basename(dir)).toMatch(/^\w[\w.-]{0,99}$/);
  });

  it('names the state folder after the host when the worker name is empty', () => {
    expect(stateDirOf('')).toBe(join('/state/trainyard', hostname()));
  });

  it('creates a different state folder for each worker name', () => {
    const names = ['a_b', 'a/b', 'a b', '..', '__', '训练', '推理', 'x'.repeat(300), 'x'.repeat(301)];
    expect(new Set(names.map(stateDirOf)).size).toBe(names.length);
  });
});

describe('trust options', () => {
  const pin = `sha256:${Buffer.alloc(32, 1).toString('base64')}`;
  const secondPin = `sha256:${Buffer.alloc(32, 2).toString('base64')}`;
  const overTls = { ...minimalFlags, 'orchestrator-url': 'https://rig:8001' };

  it('reads pins from repeated flags, or from a text or a list in the config file', () => {
    expect(loadValidConfig({ ...overTls, pin: [pin, secondPin] }).trust).toEqual({
      pins: [pin, secondPin],
      caFile: null,
      verify: true,
    });
    for (const value of [`${pin}, ${secondPin}`, [pin, secondPin]]) {
      const config = writeFile(tempFolder(), 'config.json', JSON.stringify({ pin: value }));
      expect(loadValidConfig({ ...overTls, config }).trust.pins).toEqual([pin, secondPin]);
      expect(loadValidConfig({ ...overTls, config, pin: [secondPin] }).trust.pins).toEqual([secondPin]);
    }
  });

  it.each([['sha256:short'], ['']])('rejects the pin %j with an example', given => {
    expect(configError({ ...overTls, pin: [given] })).toMatch(/is not a pin: use --pin sha256:A+=/);
  });

  it('rejects a pin for an http address, because http sends the token unencrypted', () => {
    expect(configError({ ...minimalFlags, pin: [pin] })).toMatch(
      /^--pin is for https:\/\/, but http:\/\/orchestrator\.test:8001 would get the token unencrypted\..*remove --pin$/,
    );
  });

  it('rejects a pin together with --ssl-no-verify, from any source', () => {
    const config = writeFile(tempFolder(), 'config.json', JSON.stringify({ 'ssl-no-verify': true }));
    expect(configError({ ...overTls, pin: [pin], config })).toMatch(
      /^--pin and --ssl-no-verify contradict each other/,
    );
  });
});
