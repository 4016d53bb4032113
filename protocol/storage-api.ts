import { z } from 'zod';
import { ArtifactKey, ArtifactView } from './artifact.ts';
import { call } from './call.ts';

/**
 * Bucket name for the outputs of the caller's job; equivalent to the job's id. This name and `upload_endpoint` are the
 * same for all jobs, so that trainers such as SimpleTuner need no configuration for each job.
 */
export const commonBucket = 'outputs';

/** Name of the read-only bucket with the job's datasets: manifests by version, and files by SHA-256. */
export const dataBucket = 'data';

/** Name of the read-only bucket with the inputs of the attempt: files of other jobs, by input name and path. */
export const inputsBucket = 'inputs';

const Bucket = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, `expected "${commonBucket}", or the id of the job`)
  .describe(
    "`outputs`, or the id of the job. Downloads also accept `data`, the job's datasets, and `inputs`, files of other jobs.",
  );

const byKey = z.object({ bucket: Bucket, key: ArtifactKey });

const reasonChars = 500;

/** Names of the header with the upload token: that of Trainyard, and that of SimpleTuner. */
export const uploadTokenHeaders = ['x-upload-token', 'x-simpletuner-secret'] as const;

/**
 * Storage for the outputs of trainers. The upload token of an attempt authorizes its requests. Capitalised field names are
 * those of SimpleTuner's server.
 */
export const storageApi = {
  put: call({
    method: 'PUT',
    path: '/api/cloud/storage/:bucket/*key',
    authority: 'upload',
    summary: 'Upload a file of a job; Content-Range resumes an upload',
    takesBytes: true,
    params: byKey,
    reply: z.object({
      ETag: z.string().describe('SHA-256 in lower-case hex, in quotes.'),
      Key: z.string().describe('Key of the stored file.'),
      Bucket: z.string().describe('Bucket of the request.'),
      artifact: ArtifactView.describe('The stored file.'),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/cloud/storage/:bucket/*key',
    authority: 'upload',
    summary: 'Download a file of a job; HEAD shows how much of it is uploaded',
    params: byKey,
    reply: z.string(),
    stream: 'application/octet-stream',
  }),
  outstanding: call({
    method: 'PUT',
    path: '/api/cloud/outstanding',
    authority: 'upload',
    summary: 'Report which files of a completed job are not uploaded; 0 files closes its uploads',
    body: z.object({
      files: z
        .number()
        .int()
        .min(0)
        .max(1_000_000_000)
        .describe('Number of files that are not uploaded; 0 closes the uploads.'),
      bytes: z
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .describe('Total size of these files in bytes.'),
      reason: z
        .string()
        .transform(text => text.slice(0, reasonChars))
        .nullish()
        .describe('Why these files are not uploaded; a long text is truncated. Null for none.'),
    }),
    reply: z.object({ success: z.literal(true).describe('Always true.') }),
  }),
  list: call({
    method: 'GET',
    path: '/api/cloud/storage/:bucket',
    authority: 'upload',
    summary: 'List the files of a job, newest first',
    params: z.object({ bucket: Bucket }),
    query: z.object({
      cursor: z.coerce
        .number()
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('`NextCursor` of the previous page; omit it for the first page.'),
    }),
    reply: z.object({
      Name: z.string().describe('Bucket of the request.'),
      Contents: z
        .array(
          z.object({
            Key: z.string().describe('Key of the file.'),
            Size: z.number().describe('Size in bytes.'),
            LastModified: z.number().describe('Time of the upload, in seconds since 1970-01-01 UTC.'),
            ETag: z.string().describe('SHA-256 in lower-case hex, in quotes.'),
          }),
        )
        .describe('Files of the job, newest first.'),
      IsTruncated: z.boolean().describe('Whether there is another page.'),
      NextCursor: z.string().nullable().describe('`cursor` of the next page; null on the last page.'),
    }),
  }),
};
