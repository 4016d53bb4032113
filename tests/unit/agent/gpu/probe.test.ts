import { describe, expect, it } from 'vitest';
import { probeGpus, type RunCommand } from '../../../../agent/gpu/probe.ts';
import {
  A100,
  exited,
  mac,
  machine,
  MIXED,
  probe,
  probeMac,
  probeNvidia,
  RX_7900_XT,
  TIMED_OUT,
} from '../../../support/gpu-machine.ts';

describe('probe of NVIDIA GPUs', () => {
  it('reports an NVIDIA GPU with all details', async () => {
    expect(await probeNvidia(A100)).toEqual({
      accelerator: 'cuda',
      gpus: [
        {
          index: 0,
          name: 'NVIDIA A100-SXM4-80GB',
          vramGb: 80,
          driver: '535.129.03',
          uuid: 'GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77',
        },
      ],
      count: 1,
      name: 'NVIDIA A100-SXM4-80GB',
      vramGb: 80,
      driver: '535.129.03',
      problem: undefined,
    });
  });

  it('joins the names of different GPUs, and uses the smallest memory', async () => {
    const report = await probeNvidia(MIXED);
    expect(report).toMatchObject({ count: 3, name: '2x A100-SXM4-80GB + 1x RTX 3090', vramGb: 24 });
    expect(report.gpus.map(gpu => gpu.index)).toEqual([0, 1, 2]);
  });

  it.each([
    ['NVIDIA H100 80GB HBM3', 81559, 80],
    ['NVIDIA GeForce RTX 4090', 24564, 24],
    ['NVIDIA L40S', 46068, 45],
    ['NVIDIA RTX A6000', 49140, 48],
    ['NVIDIA H200', 143771, 140],
    ['Tesla V100-SXM2-16GB', 16160, 16],
  ])('rounds the memory of %s: %i MiB to %i GB', async (name, mib, gb) => {
    expect(await probeNvidia(`0, ${name}, ${mib}, 550.54.15, GPU-1\n`)).toMatchObject({ name, vramGb: gb });
  });

  it('queries exactly the fields that it reads', async () => {
    const calls: string[] = [];
    await probeGpus({
      run: machine({ 'nvidia-smi': A100 }, calls),
      platform: 'linux',
      arch: 'x64',
      environment: {},
    });
    expect(calls).toEqual([
      'nvidia-smi --query-gpu=index,name,memory.total,driver_version,uuid --format=csv,noheader,nounits',
    ]);
  });

  it("finds nvidia-smi in WSL's folder", async () => {
    expect(await probe({ '/usr/lib/wsl/lib/nvidia-smi': A100 })).toMatchObject({
      accelerator: 'cuda',
      count: 1,
    });
  });

  it.each([
    [
      'a name with commas',
      '0, Graphics Device, rev 2,, 8192, 1.2, GPU-1',
      { name: 'Graphics Device, rev 2, ', vramGb: 8 },
    ],
    ['an unknown name', '0, [N/A], 8192, 470.57.02, GPU-1', { name: 'NVIDIA GPU', vramGb: 8 }],
    [
      'an unknown driver and UUID',
      '0, Tesla K80, 11441, [Not Supported], [Unknown Error]',
      { name: 'Tesla K80', vramGb: 11, driver: undefined },
    ],
    ['an empty UUID', '0, Tesla K80, 11441, N/A,', { count: 1, driver: undefined }],
    [
      'MIG mode',
      '0, NVIDIA A100-SXM4-40GB, 40960, 550.54.15, GPU-5d5ba0d6',
      { name: 'NVIDIA A100-SXM4-40GB', vramGb: 40 },
    ],
    ['a very long name', `0, ${'x'.repeat(5000)}, 8192, 1.2, GPU-1`, { name: 'x'.repeat(200) }],
  ])('reports a GPU with %s', async (_title, row, expected) => {
    const report = await probeNvidia(`${row}\n`);
    expect(report).toMatchObject({ accelerator: 'cuda', count: 1, problem: undefined, ...expected });
    expect(report.gpus[0]?.uuid).toBe(row.includes('GPU-') ? row.slice(row.indexOf('GPU-')) : undefined);
  });

  it.each(['[N/A]', '[Not Supported]', 'Not Supported', '[Insufficient Permissions]'])(
    'keeps a GPU whose memory is %s, and reports the unknown size',
    async memory => {
      const report = await probeNvidia(
        `0, NVIDIA GB10, ${memory}, 580.95.05, GPU-1\n${A100.replace('0', '1')}`,
      );
      expect(report).toMatchObject({ count: 2, vramGb: undefined, problem: { code: 'memory_unknown' } });
      expect(report.problem?.message).toContain('GPU 0 (NVIDIA GB10)');
    },
  );

  it.each([
    ['1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]'],
    ['1, NVIDIA A100-SXM4-80GB, [GPU requires reset], 535.129.03, GPU-2'],
    ['1, [Unknown Error], 81920, 535.129.03, GPU-2'],
    ['1, NVIDIA A100-SXM4-80GB, [Unknown Error], 535.129.03, GPU-2'],
    ['1, half a row'],
  ])('skips the failed GPU in the row "%s"', async row => {
    const report = await probeNvidia(`${A100}${row}\n`);
    expect(report).toMatchObject({ count: 1, accelerator: 'cuda', problem: { code: 'gpu_lost' } });
    expect(report.problem?.message).toContain('GPU 1 ');
  });

  it('reports the listed GPUs despite an error about another GPU', async () => {
    const complaint = 'Unable to determine the device handle for GPU1: 0000:41:00.0: Unknown Error\n';
    const report = await probeNvidia(exited(15, `${complaint}${A100}`));
    expect(report).toMatchObject({ count: 1, problem: { code: 'gpu_lost' } });
    expect(report.problem?.message).toContain('GPU1: 0000:41:00.0');
  });

  it('ignores a warning when the list of GPUs is healthy', async () => {
    const report = await probeNvidia(exited(14, A100, 'WARNING: infoROM is corrupted at gpu 0000:07:00.0\n'));
    expect(report).toMatchObject({ count: 1, problem: undefined });
  });
});

describe('broken NVIDIA drivers', () => {
  it.each([
    [
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
      9,
      'driver_unreachable',
      'modprobe nvidia',
    ],
    [
      'Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161',
      18,
      'driver_mismatch',
      'reboot',
    ],
    ['Failed to initialize NVML: Unknown Error', 255, 'driver_unreachable', 'In a container, restart it'],
    [
      "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.",
      12,
      'driver_unreachable',
      'libraries',
    ],
    ['No devices were found', 6, 'no_devices', 'dmesg'],
    ['No devices were found', 0, 'no_devices', 'dmesg'],
    [
      'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU',
      15,
      'gpu_lost',
      'fell off the bus',
    ],
    [
      'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error',
      15,
      'gpu_lost',
      'no longer answers',
    ],
    ['Field "uuid" is not a valid field to query.', 2, 'probe_failed', 'exit code 2: Field "uuid"'],
    ['', 0, 'probe_failed', 'no output'],
  ])('recognizes the error %s (exit code %i): %s', async (output, code, problem, remedy) => {
    const report = await probeNvidia(exited(code, output));
    expect(report).toMatchObject({ accelerator: 'cpu', gpus: [], count: 0, problem: { code: problem } });
    expect(report.problem?.message).toContain(output.split('\n')[0]);
    expect(report.problem?.message).toContain(remedy);
  });

  it('recognizes an error of nvidia-smi on stderr', async () => {
    const report = await probeNvidia(exited(6, '', 'No devices were found\n'));
    expect(report.problem?.code).toBe('no_devices');
  });

  it.each([
    [TIMED_OUT, 'probe_timeout', 'within 10 s'],
    [{ kind: 'failed', message: 'spawn nvidia-smi EACCES' } as const, 'probe_failed', 'EACCES'],
  ])('reports a problem when nvidia-smi returns %o', async (result, code, text) => {
    const report = await probeNvidia(result);
    expect(report).toMatchObject({ count: 0, problem: { code } });
    expect(report.problem?.message).toContain(text);
  });

  it('reports a problem when the command runner throws', async () => {
    const run: RunCommand = () => Promise.reject(new Error('no such luck'));
    const report = await probeGpus({ run, platform: 'linux', arch: 'x64', environment: {} });
    expect(report).toMatchObject({ count: 0, problem: { code: 'probe_failed' } });
    expect(report.problem?.message).toContain('no such luck');
  });

  it('finds no NVIDIA GPU without nvidia-smi', async () => {
    expect(await probe({})).toEqual({ accelerator: 'cpu', gpus: [], count: 0 });
  });
});

/** A graphics card, and the processor's integrated graphics. */
const R9700_AND_APU =
  '{"card0": {"VRAM Total Memory (B)": "34208743424", "VRAM Total Used Memory (B)": "889229312", "Card Series": "AMD Radeon AI PRO R9700", "Card Model": "0x7551", "GFX Version": "gfx1201"}, "card1": {"VRAM Total Memory (B)": "2147483648", "VRAM Total Used Memory (B)": "45359104", "Card Series": "AMD Ryzen 9 9950X3D 16-Core Processor", "Card Model": "0x13c0", "GFX Version": "gfx1036"}}';

describe('probe of AMD GPUs', () => {
  it('reports an AMD GPU from rocm-smi', async () => {
    expect(await probe({ 'rocm-smi': RX_7900_XT })).toEqual({
      accelerator: 'rocm',
      gpus: [{ index: 0, name: 'Radeon RX 7900 XT', vramGb: 20, driver: '6.8.5' }],
      count: 1,
      name: 'Radeon RX 7900 XT',
      vramGb: 20,
      driver: '6.8.5',
    });
  });

  it("finds rocm-smi in ROCm's folder, and queries name, memory and driver", async () => {
    const calls: string[] = [];
    const run = machine({ '/opt/rocm/bin/rocm-smi': RX_7900_XT }, calls);
    const report = await probeGpus({ run, platform: 'linux', arch: 'x64', environment: {} });
    expect(report.count).toBe(1);
    expect(calls.at(-1)).toBe(
      '/opt/rocm/bin/rocm-smi --showproductname --showmeminfo vram --showdriverversion --json',
    );
  });

  it('skips integrated graphics next to a card, but not a small card alone', async () => {
    expect(await probe({ 'rocm-smi': R9700_AND_APU })).toMatchObject({
      count: 1,
      name: 'AMD Radeon AI PRO R9700',
      vramGb: 32,
    });
    const rembrandt =
      '{"card0": {"VRAM Total Memory (B)": "536870912", "Card Series": "Rembrandt [Radeon 680M]"}}';
    expect(await probe({ 'rocm-smi': rembrandt })).toMatchObject({
      count: 1,
      name: 'Rembrandt [Radeon 680M]',
      vramGb: 1,
    });
  });

  it.each([
    [2048, 8191, 2],
    [2048, 8192, 1],
    [4095, 16380, 1],
    [4096, 16384, 2],
  ])('counts a GPU of %i MiB next to a GPU of %i MiB as %i usable GPUs', async (small, large, count) => {
    const card = (mib: number) => ({ 'VRAM Total Memory (B)': String(mib * 1024 * 1024) });
    const report = await probe({ 'rocm-smi': JSON.stringify({ card0: card(large), card1: card(small) }) });
    expect(report.count).toBe(count);
  });

  it('orders AMD GPUs by card number, as HIP does', async () => {
    const card = (name: string) => ({ 'Card series': name, 'VRAM Total Memory (B)': '68702699520' });
    const json = JSON.stringify({
      card10: card('C'),
      card9: card('B'),
      card1: card('A'),
      card2: 'not a card',
    });
    const report = await probe({ 'rocm-smi': json });
    expect(report.gpus.map(gpu => [gpu.index, gpu.name, gpu.vramGb])).toEqual([
      [0, 'A', 64],
      [1, 'B', 64],
      [2, 'C', 64],
    ]);
  });

  it.each([
    [
      'a card that rocm-smi has no name for',
      { 'Card Model': '0x75b0', 'GFX Version': 'gfx950' },
      'AMD GPU gfx950',
    ],
    ['a card with a blank name', { 'Card Series': ' ', 'GFX Version': 'gfx950' }, 'AMD GPU gfx950'],
    ['a card with only a model', { 'Card Series': 'N/A', 'Card Model': '0x75b0' }, 'AMD GPU 0x75b0'],
    ['a card without any name', {}, 'AMD GPU'],
  ])('finds a name for %s', async (_title, card, name) => {
    const output = `WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n\n${JSON.stringify({ card0: { ...card, 'Driver version': '6.14.14' } })}\nWARNING: more`;
    expect(await probe({ 'rocm-smi': output })).toMatchObject({
      count: 1,
      name,
      vramGb: undefined,
      driver: '6.14.14',
    });
  });

  it.each([
    [
      exited(0, '', 'ERROR:root:Driver not initialized (amdgpu not found in modules)'),
      'driver_unreachable',
      'modprobe amdgpu',
    ],
    [exited(2, 'rocm-smi: error: unrecognized arguments'), 'probe_failed', 'exit code 2: rocm-smi: error'],
    [exited(0, '{"system": {"Driver version": "6.8.5"}}'), 'probe_failed', 'listed no GPU'],
    [exited(0, '{"card0": '), 'probe_failed', 'listed no GPU'],
    [exited(0, '\n'), 'probe_failed', 'no output'],
    [TIMED_OUT, 'probe_timeout', 'rocm-smi did not answer'],
  ])('reports a problem when rocm-smi returns %o', async (result, code, text) => {
    const report = await probe({ 'rocm-smi': result });
    expect(report).toMatchObject({ accelerator: 'cpu', count: 0, problem: { code } });
    expect(report.problem?.message).toContain(text);
  });

  it("uses AMD GPUs when NVIDIA's driver is broken, and still reports the driver", async () => {
    const report = await probe({ 'nvidia-smi': 'No devices were found', 'rocm-smi': RX_7900_XT });
    expect(report).toMatchObject({ accelerator: 'rocm', count: 1, problem: { code: 'no_devices' } });
  });

  it('does not run rocm-smi when an NVIDIA GPU works', async () => {
    expect(await probe({ 'nvidia-smi': A100, 'rocm-smi': RX_7900_XT })).toMatchObject({
      accelerator: 'cuda',
      count: 1,
    });
  });
});

describe('probe of Apple silicon', () => {
  it('reports the chip with the memory of the machine', async () => {
    const calls: string[] = [];
    const hardware = [
      {
        _name: 'hardware_overview',
        chip_type: 'Apple M2 Ultra',
        machine_model: 'Mac14,14',
        number_processors: 'proc 24:16:8:0',
        physical_memory: '64 GB',
      },
    ];
    const displays = [
      {
        _name: 'Apple M2 Ultra',
        spdisplays_vendor: 'sppci_vendor_Apple',
        sppci_cores: '60',
        sppci_model: 'Apple M2 Ultra',
      },
    ];
    const run = machine({ system_profiler: mac(hardware, displays) }, calls);
    expect(
      await probeGpus({ run, platform: 'darwin', arch: 'arm64', environment: { CUDA_VISIBLE_DEVICES: '' } }),
    ).toEqual({
      accelerator: 'mps',
      gpus: [{ index: 0, name: 'Apple M2 Ultra', vramGb: 64 }],
      count: 1,
      name: 'Apple M2 Ultra',
      vramGb: 64,
    });
    expect(calls).toEqual(['system_profiler SPDisplaysDataType SPHardwareDataType -json']);
  });

  it.each([
    [
      'a chip that only the displays section names',
      mac([{ chip_type: 'Unknown', physical_memory: '14 GB' }], [{ sppci_model: 'Apple M1' }]),
      { name: 'Apple M1', vramGb: 14 },
    ],
    [
      'a terabyte of memory',
      mac([{ chip_type: 'Apple M9', physical_memory: '1 TB' }]),
      { name: 'Apple M9', vramGb: 1024 },
    ],
    ['no name at all', mac([{ physical_memory: '8 GB' }]), { name: 'Apple Silicon', vramGb: 8 }],
  ])('reports an Apple GPU with %s', async (_title, output, expected) => {
    expect(await probeMac(output)).toMatchObject({ count: 1, problem: undefined, ...expected });
  });

  it.each([
    ['an invalid memory size', mac([{ chip_type: 'Apple M1', physical_memory: 'plenty' }]), 'memory_unknown'],
    ['sections that are not lists', mac({ chip_type: 'Apple M1' }), 'memory_unknown'],
    ['an empty section', mac([]), 'memory_unknown'],
    ['invalid JSON', '<plist>', 'memory_unknown'],
    ['a list', '[{}]', 'memory_unknown'],
    ['a timeout', TIMED_OUT, 'probe_timeout'],
  ])('keeps the Apple GPU despite %s', async (_title, output, code) => {
    expect(await probeMac(output)).toMatchObject({
      accelerator: 'mps',
      count: 1,
      vramGb: undefined,
      problem: { code },
    });
  });

  it('finds no GPU on an Intel Mac', async () => {
    expect(await probe({ system_profiler: mac([]) }, {}, 'darwin', 'x64')).toMatchObject({
      accelerator: 'cpu',
      count: 0,
    });
  });
});
