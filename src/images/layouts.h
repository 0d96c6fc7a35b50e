// The layouts of data sets on disk, a function each. LoadDataSet (data_set.h) chooses among them
// and applies the limits. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "images/data_set.h"

namespace interlude {

/// The MNIST family: {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz. `title`
/// begins the message where a file is missing, `help` ends it.
struct IdxNames {
  std::string title;
  std::string help;
  std::vector<std::string> classes;
  PixelStatistics statistics;
};
StatusOr<DataSet> LoadIdxData(const DataConfig& config, const IdxNames& names);

/// CIFAR-10's data_batch_{1..5}.bin and test_batch.bin, or CIFAR-100's train.bin and test.bin (the
/// fine labels), in data.directory or in cifar-10-batches-bin, cifar-100-binary below it.
StatusOr<DataSet> LoadCifarData(const DataConfig& config);

/// Oxford-IIIT Pet: annotations/trainval.txt and test.txt, images/NAME.jpg.
StatusOr<DataSet> ListPets(const DataConfig& config);

/// train/CLASS/FILE and test/CLASS/FILE (or val); or CLASS/FILE, of which a part is set aside. The
/// classes are those of classes.txt (class_list.h), without it the training set's folders.
StatusOr<DataSet> ListFolders(const DataConfig& config);

/// data.train_csv and data.test_csv: a path and a label a line. The classes are those of
/// classes.txt, without it the labels.
StatusOr<DataSet> ListCsv(const DataConfig& config);

/// Whether a file of this name is taken for a picture where a folder is listed, by the name's
/// ending.
bool HasPictureEnding(const std::string& name);

/// Moves `share` of each class's samples, at least one where it has two, from `all` to the test
/// part. Which ones follows from their order and number alone, not from the run's seed, so that
/// every worker and every run score the same. Both parts keep the order.
void SetTestPartAside(double share, DataPart all, DataSet& set);

}  // namespace interlude
