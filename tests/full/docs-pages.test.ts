import { describePages, otherPages } from '../support/docs/page-tests.ts';

describePages(otherPages);
