import { beforeAll, describe, expect, it } from 'vitest';
import { rooms as table } from '../../oxlint.config.ts';
import { assets, controls } from './controls.ts';
import { type LintResult, lintTree } from './lint-tree.ts';
import { codePlants, longFunction } from './code-plants.ts';
import { importPlants } from './import-plants.ts';
import type { Plant } from './plant.ts';

const plants = [...importPlants, ...codePlants];

/** Clean files at the limits of 500 lines per file and 80 lines per function. */
const borderline = new Map([
  ['agent/longest-file.ts', `export const long = 1;\n${'// a comment is a line, too\n'.repeat(499)}`],
  ['agent/longest-function.ts', longFunction(80)],
]);

interface Planted {
  readonly plant: Plant;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** Writes all plants into their files. Returns the sources, and the lines of each plant, counted from 1. */
function plantTree(): { sources: Map<string, string>; planted: Planted[] } {
  const sources = new Map(assets);
  for (const { file, code } of controls) sources.set(file, code);
  for (const { file } of plants) sources.set(file, '');
  const planted = plants.map(plant => {
    const before = sources.get(plant.file) ?? '';
    sources.set(plant.file, `${before}${plant.code}\n`);
    const firstLine = before.split('\n').length;
    return { plant, firstLine, lastLine: firstLine + plant.code.split('\n').length - 1 };
  });
  return { sources, planted };
}

const { sources, planted } = plantTree();
let plantedResult: LintResult;
let cleanResult: LintResult;

beforeAll(async () => {
  const clean = new Map([
    ...assets,
    ...borderline,
    ...controls.map(({ file, code }) => [file, code] as const),
  ]);
  [plantedResult, cleanResult] = await Promise.all([lintTree(sources), lintTree(clean)]);
}, 120_000);

function findingsOf({ plant, firstLine, lastLine }: Planted) {
  return plantedResult.findings.filter(
    ({ file, line }) => file === plant.file && line >= firstLine && line <= lastLine,
  );
}

describe('violations that the lint must report', () => {
  it.each(planted.map(each => [each.plant.name, each] as const))('reports the violation "%s"', (_, each) => {
    const findings = findingsOf(each);
    const [rule, ...also] = each.plant.rules;
    const reportedRules = findings.map(finding => finding.rule);
    expect(findings).toContainEqual(
      expect.objectContaining({ rule, message: expect.stringContaining(each.plant.message) }),
    );
    expect(reportedRules.filter(other => other !== rule && !also.includes(other))).toEqual([]);
  });

  it('reports nothing except the planted violations', () => {
    const expectedFindings = new Set(planted.flatMap(each => findingsOf(each)));
    expect(plantedResult.findings.filter(finding => !expectedFindings.has(finding))).toEqual([]);
  });
});

describe('clean files that the lint must accept', () => {
  it.each([...controls.map(control => control.file), ...borderline.keys()])(
    'accepts the clean file %s',
    file => {
      expect(cleanResult.findings.filter(finding => finding.file === file)).toEqual([]);
    },
  );

  it('reports nothing in all clean files together', () => {
    expect(cleanResult.findings).toEqual([]);
    expect(cleanResult.files).toBeGreaterThanOrEqual(controls.length + borderline.size);
  });
});

describe('table of import rules', () => {
  const rooms = Object.keys(table);
  it.each(rooms)('has a clean sample file for the room %s', room => {
    expect(controls.map(control => control.room)).toContain(room);
  });
  it.each(rooms.filter(room => room !== 'tests'))('has a planted forbidden import for the room %s', room => {
    expect(plants.map(plant => plant.message).join('\n')).toContain(`The room "${room}" may not import`);
  });
});
