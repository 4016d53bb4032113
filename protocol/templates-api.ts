import { z } from 'zod';
import { call } from './call.ts';
import { DryRunResult, Submitted } from './submitted.ts';
import { SweepReply } from './sweep.ts';
import { templateWrites } from './template-access.ts';
import {
  NewTemplate,
  ReplacedTemplate,
  TemplateDetail,
  TemplateName,
  TemplateSubmit,
  TemplateSweep,
  TemplateView,
} from './template.ts';

const byTemplate = z.object({ template: TemplateName });

/** Stored submissions with parameters. Users give the values of the parameters for each job. */
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
    path: '/api/templates/:template',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Show a job template with its submission',
    params: byTemplate,
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
    path: '/api/templates/:template',
    ...templateWrites,
    summary: 'Replace a job template, or rename it',
    params: byTemplate,
    body: ReplacedTemplate,
    reply: TemplateView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/templates/:template',
    ...templateWrites,
    summary: 'Delete a job template; its jobs stay',
    params: byTemplate,
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      name: z.string().describe('Name of the deleted template.'),
    }),
  }),
  submit: call({
    method: 'POST',
    path: '/api/templates/:template/submit',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job from a template, with values for its parameters',
    params: byTemplate,
    body: TemplateSubmit,
    reply: z.union([DryRunResult, Submitted]),
  }),
  sweep: call({
    method: 'POST',
    path: '/api/templates/:template/sweep',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job from a template for each combination of values, all of them or none',
    params: byTemplate,
    body: TemplateSweep,
    reply: SweepReply,
  }),
} as const;
