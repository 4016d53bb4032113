import type { GalleryKey } from '../en/gallery.ts';

export const gallery: Readonly<Record<GalleryKey, string>> = {
  'gallery.none':
    'サンプルはまだありません。設定で指定すると、トレーナーは学習中にサンプルの画像や動画を書き出します。ワーカーがアップロードすると、ここに表示されます。',
  'gallery.none.jobs': 'ジョブを表示',
  'gallery.summary': '{jobs, plural, other {# 件のジョブ}}の{count, plural, other {サンプル # 件}}',
  'gallery.count': '{count, plural, other {サンプル # 件}}',
  'gallery.choose': '{job} を比較対象に選択',
  'gallery.choose.hint': 'サンプルを比較するジョブを 4 件まで選択してください。',
  'gallery.chosen': '{count, plural, other {# 件のジョブを選択中}}',
  'gallery.compare': 'サンプルを比較',
  'gallery.clear': '選択を解除',
  'gallery.older': '以前のサンプルを読み込む',
  'gallery.back': 'すべてのサンプル',
  'gallery.change': 'ジョブを選択',
  'gallery.remove': '{job} を外す',
  'gallery.comparison': 'プロンプトとジョブごとのサンプル',
  'gallery.unit': '比較の基準',
  'gallery.unit.step': 'ステップ',
  'gallery.unit.epoch': 'エポック',
  'gallery.none.before': 'このステップ以前のサンプルはありません',
  'gallery.none.placed':
    'これらのジョブのサンプルは、ファイル名にステップもエポックも含まれないため比較できません。すべてのサンプルで確認できます。',
  'gallery.none.ofJobs':
    'これらのジョブのサンプルはまだありません。アップロードされると、ここに表示されます。',
  'gallery.unplaced':
    '{count, plural, other {# 件のサンプル}}は、ファイル名にこの位置が含まれないため表示していません。',
  'gallery.keys': 'キー操作: ← と → でステップを変更、F でサンプルを全画面表示。',
  'gallery.full.keys': 'キー操作: ← と → でステップ、↑ と ↓ でプロンプトを変更、Esc で閉じる。',
  'gallery.prompt': 'プロンプト {number, number}',
  'gallery.prompt.none': 'サンプル',
  'gallery.sample': '{job}、{prompt}、{place}',
  'gallery.previousStep': '前のステップ',
  'gallery.nextStep': '次のステップ',
  'gallery.previousPrompt': '前のプロンプト',
  'gallery.nextPrompt': '次のプロンプト',
};
