import { z } from 'zod';
import { call } from './call.ts';
import { DryRunResult, Submitted } from './submitted.ts';
import { templateWrites } from './template-access.ts';
import {
  NewTemplate,
  ReplacedTemplate,
  TemplateDetail,
  TemplateName,
  TemplateSubmit,
  TemplateView,
} from './template.ts';

const byName = z.object({ name: TemplateName });

/** Submissions that users save, and fill in for each job. */
export const templatesApi = {
  list: call({
    method: 'GET',
    path: '/api/templates',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'List job templates by name, without their submissions',
    reply: z.object({ templates: z.array(TemplateView).describe('All templates, by name.') }),
  }),
  get: call({
    method: 'GET',
    path: '/api/templates/:name',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show a job template with its submission',
    params: byName,
    reply: TemplateDetail,
  }),
  create: call({
    method: 'POST',
    path: '/api/templates',
    ...templateWrites,
    summary: 'Create a job template from a submission or a job',
    body: NewTemplate,
    reply: TemplateView,
  }),
  replace: call({
    method: 'PUT',
    path: '/api/templates/:name',
    ...templateWrites,
    summary: 'Replace a job template, or rename it',
    params: byName,
    body: ReplacedTemplate,
    reply: TemplateView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/templates/:name',
    ...templateWrites,
    summary: 'Delete a job template; its jobs stay',
    params: byName,
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      name: z.string().describe('Name of the deleted template.'),
    }),
  }),
  submit: call({
    method: 'POST',
    path: '/api/templates/:name/submit',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job from a template, with values for its parameters',
    params: byName,
    body: TemplateSubmit,
    reply: z.union([DryRunResult, Submitted]),
  }),
} as const;
