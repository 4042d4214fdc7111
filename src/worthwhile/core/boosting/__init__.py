"""Kernels that grow boosted trees, in the order data flows through them.

1. Values become codes: ``binning`` (quantile bins and thresholds), ``layout`` (where features lie
   in the code matrix), ``stored_columns`` and ``stored_states`` (numbers and codes in files, of rows
   that are never all in memory).
2. Scores become integers: ``gradients`` (of the built-in losses), ``lambdarank`` (of pairs of
   documents), ``rounding`` (to nearest, on a power-of-two scale), ``rounded_gradients`` (both in
   one pass).
3. A tree grows: ``node_rows`` answers the two questions a grower may ask of the data, with
   ``histogram`` (rows added up, bin by bin; two numbers at once by ``paired_sums``, rows that lie far
   apart asked for ahead by ``fetching``, many rows of weight 1 by ``counted_sums``) and ``partition``
   (rows divided by a split); ``shared_rows`` answers where several processes have some of the rows
   each, with ``built_histograms``;
   ``splitting`` scores splits, ``wide_splitting`` those on any statistics, ``curved_splitting`` those by
   Newton steps, with ``category_scan`` in the order of categories; ``purchases`` says what each would
   cost; ``grower`` decides, with noise of ``split_noise`` among what costs nothing.
4. Small tables in one kernel: ``team_grower`` calls ``team_kernel``, whose threads meet by ``team``.
5. Rows find their leaves: ``leaves``; leaves that hold a quantile of their rows: ``node_quantiles``.
"""
