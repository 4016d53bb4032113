import { z } from 'zod';
import { aboutFields, JobNotes } from './job-about.ts';
import { afterFields } from './job-dependencies.ts';
import { JobId } from './ids.ts';
import { inputFields } from './job-inputs.ts';
import { PriorityWord } from './job.ts';
import { IdempotencyKey, SubmitRequest } from './submission.ts';
import { Sweep } from './sweep.ts';
import { jobParameters, parameterProblem } from './template-values.ts';
import { Line, Name } from './text.ts';

/** A template is a stored submission with parameters. Users choose the values of the parameters; the rest is fixed. */

export const TemplateName = Name.describe('Name of the template.');

/** Maximum number of parameters of a template. */
const maxParameters = 40;

export const ParameterValue = z.union([z.string().max(2_000), z.number(), z.boolean()]);
export type ParameterValue = z.output<typeof ParameterValue>;

export const TemplateParameter = z
  .strictObject({
    key: Line.min(1)
      .max(200)
      .describe('Path of the value, such as `learning_rate` or `config.process.0.train.lr`.'),
    document: z
      .enum(['config', 'dataloader', 'file', 'job'])
      .default('config')
      .describe(
        `Document that contains the value. \`file\`: the file of the submission that \`file\` names. \`job\`: a field of the submission: ${Object.keys(jobParameters).join(', ')}.`,
      ),
    file: Line.min(1)
      .max(1_000)
      .nullable()
      .default(null)
      .describe('Path of the file in the config, with `document` = `file`; otherwise null.'),
    label: Line.trim().min(1).max(80).nullable().default(null).describe('Label; null to show the key.'),
    help: Line.trim().min(1).max(500).nullable().default(null).describe('Help for users; null for none.'),
    type: z
      .enum(['text', 'integer', 'number', 'boolean'])
      .default('text')
      .describe('Type of the value. Texts that stand for a number or boolean are converted.'),
    default: ParameterValue.nullable()
      .default(null)
      .describe('Value if the user gives none; null if the user must give one.'),
    choices: z
      .array(ParameterValue)
      .max(50)
      .default([])
      .describe('Allowed values, at most 50; empty to allow any.'),
    min: z.number().nullable().default(null).describe('Smallest allowed number; null for no limit.'),
    max: z.number().nullable().default(null).describe('Largest allowed number; null for no limit.'),
  })
  .superRefine((parameter, context) => {
    const problem = parameterProblem(parameter);
    if (problem !== null) context.addIssue({ code: 'custom', path: [problem.field], message: problem.text });
  })
  .meta({ id: 'TemplateParameter', description: 'A value that a template asks for.' });
export type TemplateParameter = Readonly<z.output<typeof TemplateParameter>>;

const Parameters = z
  .array(TemplateParameter)
  .max(maxParameters)
  .refine(list => new Set(list.map(({ key }) => key)).size === list.length, 'the same key is given twice');

/** The stored submission. It has no idempotency key, parents or inputs, because each job gets its own. */
const TemplateSubmission = SubmitRequest.refine(
  ({ dry_run: isDryRun, idempotency_key: key, after, inputs }) =>
    !isDryRun && (key ?? after ?? inputs) === undefined,
  'a template contains neither dry_run nor idempotency_key nor after nor inputs: give them with each job',
);

export const NewTemplate = z
  .strictObject({
    name: TemplateName.describe('Name of the template, unique.'),
    description: JobNotes.max(1_000)
      .nullable()
      .default(null)
      .describe('Purpose of the template, at most 1,000 characters; null for none.'),
    submission: TemplateSubmission.optional().describe(
      'The submission, as for a job. The template contains a copy of the config that it names.',
    ),
    job_id: JobId.optional().describe('Job to copy the submission from, instead of `submission`.'),
    parameters: Parameters.default([]).describe(
      `Values to ask for, at most ${maxParameters}, in the order of the form.`,
    ),
  })
  .refine(body => (body.submission === undefined) !== (body.job_id === undefined), {
    path: ['submission'],
    message: 'give either submission or job_id',
  });
export type NewTemplate = z.output<typeof NewTemplate>;

/** `revision` prevents lost updates. Configs use an `ETag` instead, but a template has no file whose content could have one. */
export const ReplacedTemplate = NewTemplate.safeExtend({
  revision: z
    .int()
    .min(1)
    .optional()
    .describe('Refuse the change if the template has another revision by now; omitted to replace any.'),
});
export type ReplacedTemplate = z.output<typeof ReplacedTemplate>;

const Time = z.iso.datetime();

export const TemplateView = z
  .object({
    name: z.string().describe('Name of the template.'),
    description: z.string().nullable().describe('Purpose of the template; null for none.'),
    config_name: z.string().nullable().describe('Name of the config; null for none.'),
    trainer: z
      .string()
      .nullable()
      .describe('Trainer of the config; null for a test of the fleet, which every worker can run.'),
    parameters: z.array(TemplateParameter).describe('Values to ask for, in the order of the form.'),
    revision: z.number().describe('Number of the revision, 1 for a new template.'),
    created_at: Time.describe('When the template was created.'),
    created_by: z.string().describe('User who created it.'),
    changed_at: Time.describe('When the template was last changed.'),
    changed_by: z.string().describe('User who last changed it.'),
  })
  .meta({ id: 'TemplateView', description: 'A template without its submission.' });
export type TemplateView = z.output<typeof TemplateView>;

export const TemplateDetail = TemplateView.extend({
  submission: SubmitRequest.describe('The submission before the values are filled in.'),
}).meta({ id: 'TemplateDetail', description: 'A template with its submission.' });
export type TemplateDetail = z.output<typeof TemplateDetail>;

export const TemplateSubmit = z
  .strictObject({
    values: z
      .record(Line.min(1).max(200), ParameterValue)
      .refine(values => Object.keys(values).length <= maxParameters, `at most ${maxParameters} values`)
      .default({})
      .describe('Values by the keys of the parameters. Omitted ones get their default.'),
    ...aboutFields,
    ...afterFields,
    ...inputFields,
    priority: PriorityWord.optional(),
    dry_run: SubmitRequest.shape.dry_run,
    idempotency_key: IdempotencyKey.optional().describe(
      'For 24 hours, the same key returns the same job. Equivalent to the header `Idempotency-Key`.',
    ),
  })
  .refine(body => (body.after ?? body.inputs) !== undefined || body.after_on === undefined, {
    path: ['after_on'],
    message: 'after_on requires after or inputs',
  });
export type TemplateSubmit = z.output<typeof TemplateSubmit>;

/** A sweep from a template. A key of the sweep is a parameter of the template, or else a path in its config. */
export const TemplateSweep = TemplateSubmit.safeExtend({ sweep: Sweep }).refine(
  ({ values, sweep }) => sweep.every(({ key }) => !Object.hasOwn(values, key)),
  { path: ['values'], message: 'give a key either one value, or several in sweep' },
);
export type TemplateSweep = z.output<typeof TemplateSweep>;
