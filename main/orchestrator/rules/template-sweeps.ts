import { isSecretParameter, problemText, readValue } from '../../../protocol/template-values.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../protocol/submission.ts';
import { countJobs, type SweepAxis } from '../../../protocol/sweep.ts';
import type { ParameterValue, TemplateParameter, TemplateSweep } from '../../../protocol/template.ts';
import type { Bundle } from '../../../trainers/index.ts';
import { type SweepPoint, sweepTooLarge } from './sweep-drafts.ts';
import { gridOf, withValues } from './sweeps.ts';
import { filledSubmission } from './templates.ts';

interface Template {
  readonly submission: SubmitRequest;
  readonly parameters: readonly TemplateParameter[];
}

/** Maximum total length in characters of the files that parameters change. Counted per job, because each job parses them. */
const maxWrittenText = 1_000_000;

/**
 * Returns the jobs of a sweep over a template. An axis whose key is a parameter of the template varies this parameter. Any
 * other key is a path in the config. Refuses invalid values, and a sweep that is too large.
 */
export function templatePoints(
  template: Template,
  { sweep, idempotency_key: _key, ...request }: TemplateSweep,
): Outcome<readonly SweepPoint[]> {
  const { parameters } = template;
  const variedParameters = parameters.filter(({ key }) => sweep.some(axis => axis.key === key));
  const axes: SweepAxis[] = [];
  for (const axis of sweep) {
    const checked = checkAxis(axis, variedParameters);
    if (!checked.ok) return checked;
    axes.push(checked.value);
  }
  const firsts = Object.fromEntries(axes.map(({ key, values: [first = null] }) => [key, first]));
  const values = { ...request.values, ...variedValues(variedParameters, firsts) };
  const base = filledSubmission(template, { ...request, values });
  if (!base.ok) return base;
  const tooLarge =
    sweepTooLarge(bundleIn(base.value), axes) ?? filesTooLarge(base.value, variedParameters, axes);
  if (tooLarge !== null) return tooLarge;
  const points: SweepPoint[] = [];
  for (const point of gridOf(axes)) {
    const submit = { values: variedValues(variedParameters, point), dry_run: request.dry_run };
    const filled = filledSubmission({ submission: base.value, parameters: variedParameters }, submit);
    if (!filled.ok) return filled;
    const bundle = bundleIn(filled.value);
    const others = Object.entries(point).filter(([key]) => !variedParameters.some(each => each.key === key));
    const config = withValues(bundle.config, Object.fromEntries(others));
    if (!config.ok) return config;
    points.push({ request: filled.value, bundle: { ...bundle, config: config.value }, values: point });
  }
  return accept(points);
}

/** Returns the axis with values of the parameter's type. Refuses secrets, repeated values, and values that are not allowed. */
function checkAxis(axis: SweepAxis, variedParameters: readonly TemplateParameter[]): Outcome<SweepAxis> {
  const { key } = axis;
  if (isSecretParameter(axis))
    return refuse(
      'invalid_request',
      `${key}: a sweep cannot vary a secret, because all users can see its values`,
    );
  const parameter = variedParameters.find(each => each.key === key);
  if (parameter === undefined) return accept(axis);
  const values: ParameterValue[] = [];
  for (const given of axis.values) {
    const isEmpty = given === null || String(given).trim() === '';
    // An empty value would mean the default. A sweep must name the default instead.
    const value = isEmpty ? null : readValue(parameter, given);
    if (value?.ok !== true)
      return refuse(
        'invalid_request',
        `${key}: ${problemText(parameter, value?.problem ?? 'missing')}, not ${JSON.stringify(given)}`,
      );
    if (values.includes(value.value))
      return refuse('invalid_request', `${key}: the value ${value.value} is given twice`);
    values.push(value.value);
  }
  return accept({ key, values });
}

const variedValues = (
  variedParameters: readonly TemplateParameter[],
  point: SweepPoint['values'],
): Record<string, ParameterValue> =>
  Object.fromEntries(
    Object.entries(point).flatMap(([key, value]) =>
      value !== null && variedParameters.some(parameter => parameter.key === key)
        ? [[key, value] as const]
        : [],
    ),
  );

/** Returns the bundle in the submission of a template, which always contains its config. */
const bundleIn = ({ config = {}, dataloader = null, files = {} }: SubmitRequest): Bundle => ({
  config,
  dataloader,
  files,
});

function filesTooLarge(
  { files = {} }: SubmitRequest,
  variedParameters: readonly TemplateParameter[],
  axes: readonly SweepAxis[],
): Outcome<never> | null {
  const written = Object.entries(files).filter(([path]) =>
    variedParameters.some(({ file }) => file === path),
  );
  const length = written.reduce((sum, [, text]) => sum + text.length, 0);
  const count = countJobs(axes);
  return count * length > maxWrittenText
    ? refuse(
        'invalid_request',
        `The file is too large to vary a value for ${count} jobs: submit fewer at once`,
      )
    : null;
}
